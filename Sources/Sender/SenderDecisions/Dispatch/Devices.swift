// SPDX-License-Identifier: Apache-2.0

public import Contract

/// News of a device from `push.invalid-tokens`.
public struct DeviceNews: Sendable, Equatable {
  /// `PushState.tokenKey` of its pushes.
  let key: UInt64
  let news: ReleasedDevices.News

  /// - Parameters:
  ///   - device: the hash of its token, as in `PushFacts.device`.
  ///   - app: the app's `AppHash`.
  public init(
    _ device: UInt64, app: UInt64, _ environment: Environment, _ news: ReleasedDevices.News
  ) {
    key = PushState.tokenKey(device, app: app, environment)
    self.news = news
  }
}

/// The devices that nothing is sent to: those that APNs has just called dead, that were removed, and whose owner is
/// another one now.
struct Devices: Sendable {
  private var invalid = RecentInvalidations()
  private var released = ReleasedDevices()
  /// The newest timestamp of a record so far, milliseconds since the epoch: what other clocks say.
  private var newestRecord: Int64 = 0

  /// A record was taken.
  ///
  /// - Parameters:
  ///   - written: its timestamp, which somebody chose; −1 for none.
  ///   - wall: milliseconds since the epoch.
  mutating func noteRecord(written: Int64, wall: Int64) {
    // What is in another unit tells no time.
    guard written >= OutsideTime.firstRecordTime else { return }
    newestRecord = max(newestRecord, min(written, wall))
  }

  /// APNs has called the device of a push dead. If our clock is ahead of those that write records, it was sent no later
  /// than they can know: what is requested afterwards is not suppressed.
  mutating func invalidated(_ push: borrowing PushState, now: UInt64) {
    let sentAt =
      newestRecord > 0
      ? OutsideTime.bounded(push.sentAt, received: newestRecord) : push.sentAt
    invalid.note(push.tokenKey, sentAt: sentAt, now: now)
  }

  /// False when certainly no device is known to be dead: then `accepted` has no effect.
  func hasInvalid(now: UInt64) -> Bool { !invalid.isEmpty(now: now) }

  /// APNs has accepted a push: its device lives.
  mutating func accepted(_ push: borrowing PushState, now: UInt64) {
    invalid.forget(push.tokenKey, now: now)
  }

  /// False when certainly no device is known to be dead or released, which costs two comparisons.
  func maySuppress(now: UInt64) -> Bool {
    !invalid.isEmpty(now: now) || !released.isEmpty(now: now)
  }

  /// Why a push is not sent; nil if it is.
  func suppression(of push: borrowing PushState, now: UInt64) -> ReceiptCause? {
    let key = push.tokenKey
    if let reason = released.reason(key, created: push.created, now: now) { return reason.cause }
    return invalid.covers(key, created: push.created, now: now) ? .recentlyInvalid : nil
  }

  /// Devices were removed, have changed their owner, or may be used again.
  mutating func update(_ news: [DeviceNews], now: UInt64) {
    for entry in news { released.note(entry.key, entry.news, now: now) }
  }
}
