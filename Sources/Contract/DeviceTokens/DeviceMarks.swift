// SPDX-License-Identifier: Apache-2.0

internal import APNS

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

/// The marks that follow from a batch of answers: the last one of each device, ordered by the device's first answer. An
/// answer is judged by the topics' facts about its device and the earlier answers in the batch.
public struct DeviceMarks<Device: Hashable & Sendable>: Sendable {
  // Inlinable, so that other modules specialize it for their device type.
  @usableFromInline var places: [Device: Int] = [:]
  @usableFromInline var states: [(device: Device, state: DeviceState)] = []
  @usableFromInline let clockSkew: Int64

  /// - Parameter clockSkew: how far APNs' clock may be behind ours, in milliseconds.
  @inlinable
  public init(clockSkew: Int64) { self.clockSkew = clockSkew }

  /// The state of a device after the facts of the batch so far; nil if there are none about it.
  @inlinable
  public func state(_ device: Device) -> DeviceState? {
    places[device].map { states[$0].state }
  }

  /// Judges an answer about a device.
  ///
  /// - Parameter state: the state of the device according to the topics.
  @inlinable
  public mutating func judge(
    _ answer: TokenAnswer, _ device: Device, _ state: DeviceState
  ) -> TokenInvalidation.Verdict {
    let (verdict, mark) = answer.verdict(registeredAt: state.registeredAt, clockSkew: clockSkew)
    if let mark { note(mark, device, state) }
    return verdict
  }

  /// Adds a mark to publish, unless the topic has it or a stronger one.
  ///
  /// - Parameter state: the state of the device according to the topics.
  @inlinable
  public mutating func note(_ mark: DeviceState.Mark, _ device: Device, _ state: DeviceState) {
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
