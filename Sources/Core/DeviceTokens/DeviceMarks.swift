// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// An answer of APNs that says something about a device token. Times are milliseconds since the epoch.
public struct TokenAnswer: Sendable, Equatable {
  public var status: UInt16
  public var reason: String
  /// APNs' own time, if the answer had one.
  public var timestamp: Int64?
  /// When the push was sent, and when the answer came.
  public var sentAt: Int64
  public var at: Int64
  /// That the token is invalid was judged before: its reason, whatever it is, raises no mere suspicion.
  public var isJudged = false

  public init(status: UInt16, reason: String, timestamp: Int64?, sentAt: Int64, at: Int64) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.sentAt = sentAt
    self.at = at
  }
}

/// The marks that a batch of answers comes to: the last one of each device, in the order in which the devices first
/// came up. An answer is judged by what the topics say of its device and by the answers before it in the batch.
public struct DeviceMarks<Device: Hashable & Sendable>: Sendable {
  private var states: [Device: DeviceState] = [:]
  private var order: [Device] = []
  private let clockSkew: Int64

  /// - Parameter clockSkew: by how many milliseconds APNs' clock may be behind ours.
  public init(clockSkew: Int64) { self.clockSkew = clockSkew }

  /// The state of a device after the facts of the batch so far; nil if the batch has none about it.
  public func state(_ device: Device) -> DeviceState? { states[device] }

  /// Judges an answer about a device.
  ///
  /// - Parameter state: what the topics say of the device.
  public mutating func judge(
    _ answer: TokenAnswer, _ device: Device, _ state: DeviceState
  ) -> TokenInvalidation.Verdict {
    let verdict = TokenInvalidation.verdict(
      status: answer.status, reason: answer.isJudged ? nil : Reason(answer.reason),
      timestamp: answer.timestamp,
      sentAt: answer.sentAt, registeredAt: state.registeredAt, skew: clockSkew)
    guard case .invalidate(let since) = verdict else { return verdict }
    let mark = DeviceState.Mark(
      since: since,
      aliveFrom: TokenInvalidation.earliestRevival(
        timestamp: answer.timestamp, sentAt: answer.sentAt, skew: clockSkew),
      reason: answer.reason, recordedAt: answer.at)
    var invalid = states[device] ?? state
    guard invalid.needs(mark) else { return verdict }
    if states[device] == nil { order.append(device) }
    invalid.apply(mark)
    states[device] = invalid
    return verdict
  }

  /// The marks to publish.
  public var marks: [(device: Device, mark: DeviceState.Mark)] {
    order.compactMap { device in states[device]?.mark.map { (device, $0) } }
  }
}
