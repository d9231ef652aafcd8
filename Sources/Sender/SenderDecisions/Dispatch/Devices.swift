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

/// The state that is kept about single devices: which are throttled, which APNs has just called dead, and whose turn it
/// is where order is kept.
struct Devices: Sendable {
  private(set) var throttled = ThrottleTable()
  private var invalid = RecentInvalidations()
  private var released = ReleasedDevices()
  /// The newest timestamp of a record so far, milliseconds since the epoch: what other clocks say.
  private var newestRecord: Int64 = 0
  /// Whose turn it is: of a device where order is kept, else of an identity whose newest state wins.
  private var order: DeviceOrder?
  /// Order is kept for every device.
  let isOrdered: Bool
  private let slots: Int
  private let waitingAtMost: Int
  /// Pushes whose device's turn has come.
  private var turns = SlotQueue()

  init(_ settings: DispatchSettings) {
    isOrdered = settings.isOrdered
    slots = PushStates.slots(for: settings.maxInFlight)
    waitingAtMost = max(1, settings.maxInFlight / 8)
  }

  // MARK: Throttled devices

  /// The time for which nothing should go to the device, in milliseconds; 0 if something may.
  func pause(_ device: UInt64, now: UInt64) -> Int64 {
    Int64(throttled.remaining(device, now: now))
  }

  /// APNs throttles the device.
  mutating func throttle(_ device: UInt64, until: UInt64) {
    throttled.throttle(device, until: until)
  }

  // MARK: Dead devices

  /// A record was taken.
  ///
  /// - Parameters:
  ///   - written: its timestamp, which somebody chose; −1 for none.
  ///   - wall: milliseconds since the epoch.
  mutating func noteRecord(written: Int64, wall: Int64) {
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

  // MARK: Order of each device, or identity

  /// True if nothing of the same device, or identity, waits behind a push.
  func isLast(_ slot: UInt32) -> Bool { order?.isLast(slot) ?? true }

  mutating func enter(_ slot: UInt32, _ push: borrowing PushState) -> DeviceOrder.Admission {
    if order == nil { order = DeviceOrder(slots: slots, waitingAtMost: waitingAtMost) }
    return order!.enter(slot, device: isOrdered ? push.device : push.state.identity)
  }

  /// A push that had its device's turn has ended.
  ///
  /// - Returns: the push whose turn begins; `nextTurn` hands it out.
  mutating func leave(_ slot: UInt32) -> UInt32? {
    guard let next = order!.leave(slot) else { return nil }
    turns.append(next)
    return next
  }

  mutating func nextTurn() -> UInt32? { turns.popFirst() }
}
