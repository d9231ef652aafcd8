// SPDX-License-Identifier: Apache-2.0
internal import Contract
internal import Identity

/// How many apps, groups and devices have a pace, against how many may: whoever keeps, sets or asks for paces counts alike.
public struct PaceRoom: Sendable, Equatable {
  private var count = 0
  private var groupCount = 0
  /// Groups by their app.
  private var groups: [ExactText: Int] = [:]

  public init() {}

  /// - Parameter subjects: those that have a pace; each once.
  public init(_ subjects: some Sequence<Paces.Subject>) {
    for subject in subjects { note(subject, hasPace: true) }
  }

  /// A subject has got a pace, or has none any more. Lanes are as many as there are, and do not count.
  public mutating func note(_ subject: Paces.Subject, hasPace: Bool) {
    guard subject.kind != .lane else { return }
    let change = hasPace ? 1 : -1
    count += change
    guard case .group(let app, _, _) = subject else { return }
    groupCount += change
    groups[app.exact, default: 0] += change
    if groups[app.exact] == 0 { groups[app.exact] = nil }
  }

  /// Throws if there is no room for one that has no pace yet.
  public func check(_ subject: Paces.Subject) throws(Paces.Problem) {
    guard subject.kind != .lane else { return }
    guard count < Paces.subjectsAtMost else { throw .tooMany }
    if case .group(let app, _, _) = subject { try check(groupOf: app) }
  }

  private func check(groupOf app: String) throws(Paces.Problem) {
    guard groups[app.exact] ?? 0 < Paces.groupsOfAppAtMost else { throw .tooManyOfApp }
    guard groupCount < Paces.groupsAtMost else { throw .tooMany }
  }

  /// Whether one more group of an app may have a pace, as far as groups go.
  public func hasRoom(forGroupOf app: String) -> Bool { (try? check(groupOf: app)) != nil }
}
