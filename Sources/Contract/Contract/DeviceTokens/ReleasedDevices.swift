// SPDX-License-Identifier: Apache-2.0

/// The devices that were removed or changed owner within the last day: pushes requested before are not sent to them.
/// Bounded: a new device replaces the oldest in its set.
///
/// Requests and registrations are compared by their timestamps, to the millisecond: the application first moves a
/// device to another user and then requests a push for that user.
public struct ReleasedDevices: Sendable {
  /// How long a release is remembered, in milliseconds: lanes allow no greater age of a push by default.
  public static let memory: UInt64 = 86_400_000
  /// The number of devices per set.
  private static let width = 4

  /// The content of a record of `push.invalid-tokens` about a device.
  public enum News: Sendable, Equatable {
    /// The device was released. With `isGone`, nothing is sent to it until the next record.
    case released(DeviceRelease, isGone: Bool)
    /// The token is usable: for requests from this time on, if nothing at all was sent before.
    case usable(from: Int64)
  }

  private struct Entry: Sendable {
    var device: UInt64 = 0
    /// Requests before this time are not sent, in milliseconds since the epoch; `.max` while nothing is sent.
    var before: Int64 = 0
    /// The time until which it is remembered, in monotonic milliseconds; 0 for a free entry.
    var until: UInt64 = 0
    var reason = DeviceRelease.Reason.removed
  }

  private var entries: [Entry] = []
  private let capacity: Int
  private let mask: UInt64
  /// The time until which the newest is remembered: no lookup is needed after that.
  private var until: UInt64 = 0

  /// - Parameter capacity: the most devices remembered, a power of two from 4 on; 32 bytes for each, allocated with the
  ///   first of them.
  public init(capacity: Int = 65_536) {
    precondition(capacity >= Self.width && capacity & (capacity - 1) == 0, "a power of two from 4")
    self.capacity = capacity
    mask = UInt64(capacity / Self.width - 1)
  }

  /// True if none is remembered; costs one comparison.
  public func isEmpty(now: UInt64) -> Bool { until <= now }

  /// Applies a record about a device.
  ///
  /// - Parameters:
  ///   - device: a hash of token, app and environment.
  ///   - now: monotonic milliseconds.
  public mutating func note(_ device: UInt64, _ news: News, now: UInt64) {
    switch news {
    case .released(let release, let isGone):
      if entries.isEmpty { entries = Array(repeating: Entry(), count: capacity) }
      let place = place(of: device, now: now) ?? placeForNew(device)
      let isKnown = entries[place].device == device && entries[place].until > now
      let known = isKnown && entries[place].before != .max ? entries[place].before : .min
      // The reason is that of the last release.
      guard isGone || release.at >= known else { return }
      entries[place] = Entry(
        device: device, before: isGone ? .max : release.at, until: now + Self.memory,
        reason: release.reason)
      until = now + Self.memory
    case .usable(let from):
      guard let place = place(of: device, now: now), entries[place].before == .max else { return }
      entries[place].before = from
    }
  }

  /// The reason why a push is not sent; nil if it may be sent.
  ///
  /// - Parameter created: when it was requested, milliseconds since the epoch.
  public func reason(_ device: UInt64, created: Int64, now: UInt64) -> DeviceRelease.Reason? {
    guard !isEmpty(now: now), let place = place(of: device, now: now) else { return nil }
    return created < entries[place].before ? entries[place].reason : nil
  }

  private func row(of device: UInt64) -> Range<Int> {
    let first = Int((device &* 0x9E37_79B9_7F4A_7C15) >> 32 & mask) * Self.width
    return first..<first + Self.width
  }

  private func place(of device: UInt64, now: UInt64) -> Int? {
    guard !entries.isEmpty else { return nil }
    for index in row(of: device)
    where entries[index].device == device && entries[index].until > now { return index }
    return nil
  }

  private func placeForNew(_ device: UInt64) -> Int {
    let row = row(of: device)
    var place = row.lowerBound
    for index in row where entries[index].until < entries[place].until { place = index }
    return place
  }
}
