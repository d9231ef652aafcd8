// SPDX-License-Identifier: Apache-2.0

/// An answer of APNs that is evidence about a device token. Times are milliseconds since the epoch.
public struct TokenAnswer: Sendable, Equatable {
  public var status: UInt16
  public var reason: String
  /// APNs' own time, if the answer had one.
  public var timestamp: Int64?
  /// When the push was sent, and when the answer arrived.
  public var sentAt: Int64
  public var at: Int64
  /// The token was judged invalid before: its reason never counts as a mere suspicion.
  public var isJudged = false

  public init(status: UInt16, reason: String, timestamp: Int64?, sentAt: Int64, at: Int64) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.sentAt = sentAt
    self.at = at
  }
}

/// The marks that follow from a batch of answers and registrations: the last one of each device, in the order of their
/// first marks. A fact is judged by the state of its device according to the topics and the earlier facts in the batch.
public struct DeviceMarks<Device: Hashable & Comparable & Sendable>: Sendable {
  /// A record to publish; without a mark it is a tombstone.
  public typealias Publication = (device: Device, mark: DeviceState.Mark?, release: DeviceRelease?)

  // Inlinable, so that other modules specialize it for their device type.
  @usableFromInline var places: [Device: Int] = [:]
  @usableFromInline var states: [(device: Device, state: DeviceState)] = []
  /// Devices whose tokens are valid for another owner, or for none, and whether the topic has a mark of APNs to delete.
  @usableFromInline var usable: [Device: Bool] = [:]
  @usableFromInline var releases: [Device: DeviceRelease] = [:]
  @usableFromInline let clockSkew: Int64

  /// - Parameter clockSkew: how far APNs' clock may be behind ours, in milliseconds.
  @inlinable
  public init(clockSkew: Int64) { self.clockSkew = clockSkew }

  /// The state of a device for which the batch has a mark.
  @inlinable
  func marked(_ device: Device) -> DeviceState? { places[device].map { states[$0].state } }

  /// Judges an answer about a device.
  @inlinable
  public mutating func judge(
    _ answer: TokenAnswer, _ device: Device, _ state: DeviceState
  ) -> TokenInvalidation.Verdict {
    let (verdict, mark) = answer.verdict(registeredAt: state.registeredAt, clockSkew: clockSkew)
    guard let mark else { return verdict }
    note(mark, device, state)
    // What APNs reports after a tombstone of the same batch stands.
    if !usable.isEmpty, marked(device)?.mark?.isRemoval == false { usable[device] = nil }
    return verdict
  }

  /// A device was registered or removed. Senders must know if it changed hands: nothing else ends what is in flight.
  ///
  /// - Parameter received: when the record was received.
  @inlinable
  public mutating func release(
    by fact: DeviceState.Presence, received: Int64, _ device: Device, _ state: DeviceState
  ) {
    let known = marked(device) ?? state
    guard let release = known.release(by: fact, received: received) else { return }
    releases[device] = release
    switch release.reason {
    case .removed: note(DeviceState.Mark(removedAt: release.at), device, state)
    case .ownerChanged: usable[device] = state.mark?.isRemoval == false
    }
  }

  /// A device's registration was deleted, and with it what APNs reported until the tombstone was `received`: it may be
  /// read again.
  @inlinable
  public mutating func forget(received: Int64, _ device: Device, _ state: DeviceState) {
    let mark = (marked(device) ?? state).mark
    if let mark, mark.recordedAt > received { return }
    usable[device] = state.mark?.isRemoval == false
    releases[device] = DeviceRelease(.removed, at: received)
  }

  /// Adds a mark to publish, unless the topic has it or a stronger one.
  @inlinable
  mutating func note(_ mark: DeviceState.Mark, _ device: Device, _ state: DeviceState) {
    if let place = places[device] {
      if states[place].state.needs(mark) { states[place].state.apply(mark) }
    } else if state.needs(mark) {
      var invalid = state
      invalid.apply(mark)
      places[device] = states.count
      states.append((device, invalid))
    }
  }

  /// The marks to publish.
  @inlinable
  public var marks: [(device: Device, mark: DeviceState.Mark)] {
    states.compactMap { entry in entry.state.mark.map { (entry.device, $0) } }
  }

  /// The records to publish, without the marks of devices that are held back.
  @inlinable
  public func publications(without held: Set<Device> = []) -> [Publication] {
    var publications: [Publication] = []
    publications.reserveCapacity(states.count + usable.count)
    for (device, mark) in marks where !held.contains(device) && usable[device] == nil {
      publications.append((device, mark, mark.isRemoval ? releases[device] : nil))
    }
    for (device, isMarked) in usable.sorted(by: { $0.key < $1.key }) {
      // A tombstone of its own: a consumer of invalid tokens is not told about a release.
      if isMarked { publications.append((device, nil, nil)) }
      publications.append((device, nil, releases[device]))
    }
    return publications
  }
}

extension TokenAnswer {
  /// The consequence of the answer, and the mark of a token that it reports invalid.
  public func verdict(
    registeredAt: Int64?, clockSkew: Int64
  ) -> (verdict: TokenInvalidation.Verdict, mark: DeviceState.Mark?) {
    let verdict = TokenInvalidation.verdict(
      status: status, reason: isJudged ? nil : Reason(reason), timestamp: timestamp,
      sentAt: sentAt, registeredAt: registeredAt, answeredAt: at, skew: clockSkew)
    guard case .invalidate(let since) = verdict else { return (verdict, nil) }
    let mark = DeviceState.Mark(
      since: since,
      aliveFrom: TokenInvalidation.earliestRevival(
        timestamp: timestamp, sentAt: sentAt, answeredAt: at, skew: clockSkew),
      reason: reason, recordedAt: at)
    return (verdict, mark)
  }
}
