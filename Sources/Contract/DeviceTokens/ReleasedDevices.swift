// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The devices that were removed or have changed their owner within the last day: what was requested before is not sent to
/// them. Bounded: a new one takes the place of the oldest in its row.
///
/// Requests and registrations are compared by the times that they bear, to the millisecond: whoever moves a device from
/// one user to another and requests a push for the new one does it in this order.
public struct ReleasedDevices: Sendable {
  /// The time that a release is remembered, in milliseconds: the age that lanes allow a push by default is no higher.
  public static let memory: UInt64 = 86_400_000
  /// Devices that have a place in common.
  private static let width = 4

  /// What a record of `push.invalid-tokens` says about a device.
  public enum News: Sendable, Equatable {
    /// It was released. With `isGone` nothing at all is sent to it until the next news.
    case released(DeviceRelease, isGone: Bool)
    /// Its token may be used: for what is requested from this time on, if nothing at all was sent before.
    case usable(from: Int64)
  }

  private struct Entry: Sendable {
    var device: UInt64 = 0
    /// What was requested before is not sent, milliseconds since the epoch; `.max` while nothing is.
    var before: Int64 = 0
    /// Until when it is remembered, monotonic milliseconds; 0: nothing is here.
    var until: UInt64 = 0
    var reason = DeviceRelease.Reason.removed
  }

  private var entries: [Entry] = []
  private let capacity: Int
  private let mask: UInt64
  /// Until when the newest is remembered: no look is needed after that.
  private var until: UInt64 = 0

  /// - Parameter capacity: devices that are remembered at most, a power of two from 4 on; 32 bytes for each, taken with
  ///   the first of them.
  public init(capacity: Int = 65_536) {
    precondition(capacity >= Self.width && capacity & (capacity - 1) == 0, "a power of two from 4")
    self.capacity = capacity
    mask = UInt64(capacity / Self.width - 1)
  }

  /// True if none is remembered, which costs one comparison.
  public func isEmpty(now: UInt64) -> Bool { until <= now }

  /// Takes in news of a device.
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
      // What it was released for last says why.
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

  /// Why a push is not sent; nil if it may be.
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
