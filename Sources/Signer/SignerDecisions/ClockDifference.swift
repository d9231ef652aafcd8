// SPDX-License-Identifier: Apache-2.0

/// How far a sender's clock was ahead of the signer's when that was noticed last. It counts for an hour: what was noticed
/// before says nothing of the clocks now.
public struct ClockDifference: Sendable {
  /// Milliseconds.
  static let memory: UInt64 = 3_600_000

  private var noticed: (seconds: Int64, at: UInt64)?

  public init() {}

  /// - Parameter now: monotonic milliseconds.
  public mutating func note(_ seconds: Int64, now: UInt64) { noticed = (seconds, now) }

  /// The difference that counts at `now` (monotonic milliseconds); 0 for none.
  public func seconds(now: UInt64) -> Int64 {
    guard let noticed, now < noticed.at + Self.memory else { return 0 }
    return noticed.seconds
  }
}
