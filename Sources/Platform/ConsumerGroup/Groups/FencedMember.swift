// SPDX-License-Identifier: Apache-2.0

/// A static member that was told that another process uses its instance id.
///
/// That may be wrong: after its session has expired, librdkafka commits without the member id from the coordinator
/// (librdkafka#3437), which the coordinator takes for another process. A new client with the same instance id settles
/// it. If there is another process, the new client fences it and it does the same, so both count how often they are
/// fenced.
public struct FencedMember: Sendable {
  /// A member that is fenced more often than this gives up.
  public static let attempts = 3
  /// The time in which `attempts` are counted, in milliseconds.
  public static let window: UInt64 = 180_000

  private var times: [UInt64] = []

  /// Notes that the member was fenced at this time (monotonic milliseconds).
  ///
  /// - Returns: the delay in milliseconds after which a new client joins; nil if another process uses the instance id.
  public mutating func fenced(now: UInt64) -> UInt64? {
    times.removeAll { $0 + Self.window <= now }
    times.append(now)
    guard times.count <= Self.attempts else { return nil }
    return 500 << UInt64(times.count)
  }
}
