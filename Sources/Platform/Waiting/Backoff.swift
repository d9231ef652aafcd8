// SPDX-License-Identifier: Apache-2.0

/// Exponential back-off with full jitter on its upper half: n failures in a row wait between half and all of
/// `base · 2ⁿ⁻¹`, at most `cap`.
public struct Backoff: Sendable, Equatable {
  /// Milliseconds after the first failure.
  public let base: UInt64
  /// The longest wait in milliseconds.
  public let cap: UInt64
  /// Failures since the last success.
  public private(set) var failures = 0

  public init(base: UInt64, cap: UInt64) {
    precondition(base > 0 && cap >= base)
    self.base = base
    self.cap = cap
  }

  /// Notes a failure.
  ///
  /// - Parameter random: any 64 random bits.
  /// - Returns: milliseconds to wait.
  public mutating func failed(random: UInt64) -> UInt64 {
    failures += 1
    let doublings = min(failures - 1, 62)
    let full = base > cap >> UInt64(doublings) ? cap : base << UInt64(doublings)
    let half = full / 2
    return half + random % (full - half + 1)
  }

  /// Notes a success: the next failure waits the shortest time again.
  public mutating func succeeded() { failures = 0 }
}
