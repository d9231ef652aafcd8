// SPDX-License-Identifier: Apache-2.0

/// The number of apps, groups and devices with a pace, and its limits: every process counts them alike.
public struct PaceRoom: Sendable, Equatable {
  /// The most apps, groups and kinds of devices with a pace: each costs a loop about 300 bytes.
  public static let subjectsAtMost = 4_096
  /// The most groups among them: the rest is kept for apps and devices, which operators set.
  public static let groupsAtMost = 3_072
  /// The most groups of one app among them, in both environments, so that it leaves room for other apps. A campaign
  /// with a pace counts until its last push has an outcome.
  public static let groupsOfAppAtMost = 128

  private var count = 0
  private var groupCount = 0
  /// The number of groups per app.
  private var groups: [ExactText: Int] = [:]

  public init() {}

  /// - Parameter subjects: the subjects with a pace, each once.
  public init(_ subjects: some Sequence<PaceSubject>) {
    for subject in subjects { note(subject, hasPace: true) }
  }

  /// Notes that a subject has a pace or no longer has one. Lanes do not count: their number is fixed.
  public mutating func note(_ subject: PaceSubject, hasPace: Bool) {
    guard subject.kind != .lane else { return }
    let change = hasPace ? 1 : -1
    count += change
    guard case .group(let app, _, _) = subject else { return }
    groupCount += change
    groups[app.exact, default: 0] += change
    if groups[app.exact] == 0 { groups[app.exact] = nil }
  }

  /// Throws if the limits leave no room for a new subject.
  public func check(_ subject: PaceSubject) throws(PaceProblem) {
    guard subject.kind != .lane else { return }
    guard count < Self.subjectsAtMost else { throw .tooMany }
    if case .group(let app, _, _) = subject { try check(groupOf: app) }
  }

  private func check(groupOf app: String) throws(PaceProblem) {
    guard groups[app.exact] ?? 0 < Self.groupsOfAppAtMost else { throw .tooManyOfApp }
    guard groupCount < Self.groupsAtMost else { throw .tooMany }
  }

  /// Whether one more group of an app may have a pace, by the limits of groups.
  public func hasRoom(forGroupOf app: String) -> Bool { (try? check(groupOf: app)) != nil }
}
