// SPDX-License-Identifier: Apache-2.0

/// Time that passes only when a test says so, in milliseconds.
package struct ManualClock: Sendable {
  package private(set) var milliseconds: UInt64

  package init(_ milliseconds: UInt64 = 1_000_000) { self.milliseconds = milliseconds }

  package mutating func advance(by milliseconds: UInt64) { self.milliseconds += milliseconds }

  /// The same moment in seconds.
  package var seconds: UInt64 { milliseconds / 1_000 }
}
