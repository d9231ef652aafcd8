// SPDX-License-Identifier: Apache-2.0

/// A member with a name that is told that another process has it.
///
/// That may be so, or not: librdkafka commits without the id that the coordinator has given to the member once its
/// session has run out (librdkafka#3437), and the coordinator takes that for another process. A new client under the
/// same name settles it. If there is another process, that one is put out by the new client and does the same, so
/// both count how often they are told.
public struct FencedMember: Sendable {
  /// Whoever is told more often than that gives up.
  public static let attempts = 3
  /// In so many milliseconds.
  public static let window: UInt64 = 180_000

  private var times: [UInt64] = []

  public init() {}

  /// The member is told, at this time (monotonic milliseconds).
  ///
  /// - Returns: milliseconds after which a new client joins; nil if another process has the name.
  public mutating func fenced(now: UInt64) -> UInt64? {
    times.removeAll { $0 + Self.window <= now }
    times.append(now)
    guard times.count <= Self.attempts else { return nil }
    return 500 << UInt64(times.count)
  }
}
