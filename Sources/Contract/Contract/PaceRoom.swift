// SPDX-License-Identifier: Apache-2.0
internal import Identity

/// How many apps, groups and devices have a pace, against how many may: whoever keeps, sets or asks for paces counts alike.
public struct PaceRoom: Sendable, Equatable {
  /// The apps, groups and kinds of devices that may have a pace at once: each costs a loop some 300 bytes.
  public static let subjectsAtMost = 4_096
  /// Groups among them: what is left is kept for apps and devices, which operators set.
  public static let groupsAtMost = 3_072
  /// Groups of one app among them, in both environments: a campaign with a pace is one until its last push has its
  /// outcome. One app leaves room for others.
  public static let groupsOfAppAtMost = 128

  private var count = 0
  private var groupCount = 0
  /// Groups by their app.
  private var groups: [ExactText: Int] = [:]

  public init() {}

  /// - Parameter subjects: those that have a pace; each once.
  public init(_ subjects: some Sequence<PaceSubject>) {
    for subject in subjects { note(subject, hasPace: true) }
  }

  /// A subject has got a pace, or has none any more. Lanes are as many as there are, and do not count.
  public mutating func note(_ subject: PaceSubject, hasPace: Bool) {
    guard subject.kind != .lane else { return }
    let change = hasPace ? 1 : -1
    count += change
    guard case .group(let app, _, _) = subject else { return }
    groupCount += change
    groups[app.exact, default: 0] += change
    if groups[app.exact] == 0 { groups[app.exact] = nil }
  }

  /// Throws if there is no room for one that has no pace yet.
  public func check(_ subject: PaceSubject) throws(PaceProblem) {
    guard subject.kind != .lane else { return }
    guard count < Self.subjectsAtMost else { throw .tooMany }
    if case .group(let app, _, _) = subject { try check(groupOf: app) }
  }

  private func check(groupOf app: String) throws(PaceProblem) {
    guard groups[app.exact] ?? 0 < Self.groupsOfAppAtMost else { throw .tooManyOfApp }
    guard groupCount < Self.groupsAtMost else { throw .tooMany }
  }

  /// Whether one more group of an app may have a pace, as far as groups go.
  public func hasRoom(forGroupOf app: String) -> Bool { (try? check(groupOf: app)) != nil }
}
