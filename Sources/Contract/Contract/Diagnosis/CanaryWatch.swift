// SPDX-License-Identifier: Apache-2.0

/// One canary: a push that is sent through the whole pipeline at an interval, and what became of each.
///
/// At most one push is under way. It ends with its receipt or when its time is up; a receipt that comes later changes
/// nothing. Times are monotonic milliseconds unless they are said to be wall times.
public struct CanaryWatch: Sendable {
  /// Why a push did not succeed.
  public enum Failure: String, Sendable, CaseIterable {
    /// Kafka has not acknowledged the request in time.
    case notAcknowledged = "not_acknowledged"
    /// Kafka has the request, and no receipt came in time.
    case noReceipt = "no_receipt"
    case rejected, expired, suppressed, superseded, cancelled
    case deadLettered = "dead_lettered"
    /// The canary's user has no device.
    case noDevice = "no_device"

    /// nil for the outcome that is a success, and for those that do not end a push.
    init?(_ outcome: Outcome) {
      switch outcome {
      case .delivered, .addressed, .deduplicated: return nil
      case .rejected: self = .rejected
      case .expired: self = .expired
      case .suppressed: self = .suppressed
      case .superseded: self = .superseded
      case .cancelled: self = .cancelled
      case .deadLettered: self = .deadLettered
      }
    }
  }

  /// The time that each part of the way took, in milliseconds; negative where two machines' clocks differ.
  public struct Stages: Sendable, Equatable {
    /// From the request to ingest's notification.
    public let ingest: Int64
    /// From there to APNs' answer.
    public let sender: Int64
    /// From there until the receipt was read.
    public let receipt: Int64
    /// From the request until the receipt was read, by one clock.
    public let total: Int64
  }

  public enum Result: Sendable, Equatable {
    case success(Stages)
    case failure(Failure)
  }

  private struct Push: Sendable {
    let id: String
    let sentAt: UInt64
    let sentWall: Int64
    var isAcknowledged = false
  }

  private let interval: UInt64
  private let timeout: UInt64
  private var due: UInt64
  private var push: Push?

  /// - Parameters:
  ///   - interval: between two pushes, in milliseconds.
  ///   - timeout: after which a push without a receipt has failed, in milliseconds; longer ones count as the interval.
  ///   - now: when the first push is due.
  public init(interval: UInt64, timeout: UInt64, now: UInt64) {
    self.interval = interval
    self.timeout = min(timeout, interval)
    due = now
  }

  public var pendingID: String? { push?.id }

  public func isDue(now: UInt64) -> Bool { push == nil && now >= due }

  /// When something happens next without any event: a push is due, or its time is up.
  public var nextMoment: UInt64 { push.map { $0.sentAt + timeout } ?? due }

  /// A push was handed to Kafka, or would have been if its queue took anything.
  public mutating func sent(_ id: String, now: UInt64, wall: Int64) {
    push = Push(id: id, sentAt: now, sentWall: wall)
    due = now + interval
  }

  public mutating func acknowledged() { push?.isAcknowledged = true }

  /// A receipt was read; nil if it does not end the push under way. Of a user's devices the first outcome counts. What
  /// ingest or a sender does again after a rebalance ends as deduplicated, while the first is under way.
  ///
  /// - Parameters:
  ///   - created: wall time at which ingest made the notification; nil if it made none.
  ///   - at: wall time of the outcome.
  ///   - wall: now.
  public mutating func receipt(
    _ id: String, _ outcome: Outcome, reason: String? = nil, created: Int64?, at: Int64,
    now: UInt64, wall: Int64
  ) -> Result? {
    let isToNobody = outcome == .addressed && reason == "\(ReceiptCause.noDevice.code)"
    guard let push, push.id == id, outcome != .deduplicated, outcome != .addressed || isToNobody
    else { return nil }
    self.push = nil
    if isToNobody { return .failure(.noDevice) }
    if let failure = Failure(outcome) { return .failure(failure) }
    let created = created ?? push.sentWall
    return .success(
      Stages(
        ingest: created - push.sentWall, sender: at - created, receipt: wall - at,
        total: Int64(now - push.sentAt)))
  }

  /// Ends whatever has timed out.
  public mutating func timePassed(now: UInt64) -> Result? {
    guard let push, now >= push.sentAt + timeout else { return nil }
    self.push = nil
    return .failure(push.isAcknowledged ? .noReceipt : .notAcknowledged)
  }
}
