// SPDX-License-Identifier: Apache-2.0

/// A clock that advances only when a test says so, in milliseconds.
public struct ManualClock: Sendable {
  public private(set) var milliseconds: UInt64

  public init(_ milliseconds: UInt64 = 1_000_000) { self.milliseconds = milliseconds }

  public mutating func advance(by milliseconds: UInt64) { self.milliseconds += milliseconds }

  /// The time in seconds.
  public var seconds: UInt64 { milliseconds / 1_000 }
}
