// SPDX-License-Identifier: Apache-2.0

/// The devices that APNs recently reported invalid (410), so that pushes queued before are not sent in vain. Bounded: a
/// new device replaces the oldest in its set. A forgotten one costs only a request.
///
/// The rule is by time: a push requested before the invalid one was sent is pointless. A later one is sent: the app may
/// have registered in between, and ingest, which reads registrations, has let it through.
public struct RecentInvalidations: Sendable {
  /// How long an invalidation is remembered, in milliseconds: an app that registers again meanwhile loses the pushes
  /// requested before.
  public static let memory: UInt64 = 3_600_000
  /// How far the clock of the requests may be ahead or behind, in milliseconds.
  public static let tolerance: Int64 = 1_000
  /// The number of devices per set.
  private static let width = 4

  private struct Entry: Sendable {
    var device: UInt64 = 0
    /// When the push that found it invalid was sent, in milliseconds since the epoch.
    var sentAt: Int64 = 0
    /// The time until which it is remembered, in monotonic milliseconds; 0 for a free entry.
    var until: UInt64 = 0
  }

  private var entries: [Entry]
  private let mask: UInt64
  /// The time until which the newest is remembered: no lookup is needed after that.
  private var until: UInt64 = 0

  /// - Parameter capacity: the most devices remembered, a power of two from 4 on; 24 bytes for each.
  public init(capacity: Int = 8_192) {
    precondition(capacity >= Self.width && capacity & (capacity - 1) == 0, "a power of two from 4")
    entries = Array(repeating: Entry(), count: capacity)
    mask = UInt64(capacity / Self.width - 1)
  }

  /// True if none is remembered, the usual case, which costs one comparison.
  public func isEmpty(now: UInt64) -> Bool { until <= now }

  /// Notes a 410 for a device.
  ///
  /// - Parameters:
  ///   - device: a hash of token, app and environment.
  ///   - sentAt: when the push was sent, milliseconds since the epoch.
  ///   - now: monotonic milliseconds.
  public mutating func note(_ device: UInt64, sentAt: Int64, now: UInt64) {
    let row = row(of: device)
    var place = row.lowerBound
    for index in row {
      if entries[index].device == device, entries[index].until != 0 {
        place = index
        break
      }
      if entries[index].until < entries[place].until { place = index }
    }
    let known = entries[place].device == device && entries[place].until > now
    entries[place] = Entry(
      device: device, sentAt: known ? max(sentAt, entries[place].sentAt) : sentAt,
      until: now + Self.memory)
    until = now + Self.memory
  }

  /// True if a push is pointless.
  ///
  /// - Parameter created: when it was requested, milliseconds since the epoch.
  public func covers(_ device: UInt64, created: Int64, now: UInt64) -> Bool {
    guard !isEmpty(now: now) else { return false }
    for index in row(of: device)
    where entries[index].device == device && entries[index].until > now {
      return created + Self.tolerance <= entries[index].sentAt
    }
    return false
  }

  /// APNs has accepted a push for the device: its token is valid.
  public mutating func forget(_ device: UInt64, now: UInt64) {
    guard !isEmpty(now: now) else { return }
    for index in row(of: device) where entries[index].device == device { entries[index].until = 0 }
  }

  private func row(of device: UInt64) -> Range<Int> {
    let first = Int((device &* 0x9E37_79B9_7F4A_7C15) >> 32 & mask) * Self.width
    return first..<first + Self.width
  }
}
