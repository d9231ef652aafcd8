// SPDX-License-Identifier: Apache-2.0

/// What of a push must not be lost when a newer state takes its place: a newer push supersedes only those that have
/// nothing of this which it has not.
public struct Urgency: OptionSet, Sendable, Hashable {
  /// Its payload has an alert or a sound.
  public static let alert = Urgency(rawValue: 1)
  /// It has priority 10.
  public static let immediate = Urgency(rawValue: 2)

  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// So many there are.
  public static let count: UInt8 = 4

  /// True if a newer push of this urgency supersedes one of another.
  @inline(__always)
  public func covers(_ other: Urgency) -> Bool { rawValue & other.rawValue == other.rawValue }
}
