// SPDX-License-Identifier: Apache-2.0

/// Devices that APNs has throttled (`TooManyRequests`), and until when nothing should be sent to them.
///
/// A table of fixed size, found by the hash of the device token: it is advice, not truth. When it is full the
/// device whose time is over first is forgotten, and its next push finds out again.
public struct ThrottleTable: Sendable {
  private struct Entry: Sendable {
    var hash: UInt64 = 0
    /// 0: empty.
    var until: UInt64 = 0
  }

  /// Places that one device may be in.
  private static let ways = 8

  private var entries: [Entry] = []
  private let sets: Int
  /// Nothing is throttled any more after this time.
  var lastUntil: UInt64 = 0

  /// - Parameter capacity: devices at most; memory is 16 bytes for each, taken at the first hold.
  public init(capacity: Int = 8_192) {
    var sets = 1
    while sets * Self.ways < capacity { sets *= 2 }
    self.sets = sets
  }

  /// False when certainly no device is throttled: the usual case, which costs one comparison.
  ///
  /// - Parameter now: monotonic milliseconds, as everywhere here.
  public func mayThrottle(now: UInt64) -> Bool { now < lastUntil }

  /// Holds a device, or prolongs its time.
  public mutating func throttle(_ hash: UInt64, until: UInt64) {
    if entries.isEmpty { entries = Array(repeating: Entry(), count: sets * Self.ways) }
    lastUntil = max(lastUntil, until)
    let first = place(hash)
    var victim = first
    for index in first..<first + Self.ways {
      if entries[index].hash == hash && entries[index].until > 0 {
        entries[index].until = max(entries[index].until, until)
        return
      }
      if entries[index].until < entries[victim].until { victim = index }
    }
    entries[victim] = Entry(hash: hash, until: until)
  }

  /// How long the device is still throttled, in milliseconds; 0 if it is not.
  public func remaining(_ hash: UInt64, now: UInt64) -> UInt64 {
    guard !entries.isEmpty else { return 0 }
    let first = place(hash)
    for index in first..<first + Self.ways where entries[index].hash == hash {
      return entries[index].until > now ? entries[index].until - now : 0
    }
    return 0
  }

  private func place(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 33) % sets * Self.ways
  }
}
