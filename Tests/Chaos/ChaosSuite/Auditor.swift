// SPDX-License-Identifier: Apache-2.0
public import Contract
public import LabCommand
public import Records

/// Compares, for every notification of a run, the request with five independent reports: receipts, dead letters, the
/// records on the lanes, the gateway's list, and the committed offsets.
///
/// Its only input is events in the order in which they were read: no clock, no socket.
public final class Auditor {
  /// A final response of the gateway, as in its own list and in a receipt.
  private struct Answer: Hashable {
    let status: UInt16
    let reason: String
  }

  /// A notification's earliest receipt with an outcome.
  private struct FirstReceipt {
    let outcome: Outcome
    let answer: Answer?
    let at: Int64
  }

  public let ledger = DemoLedger()
  private var firsts: [NotificationID: FirstReceipt] = [:]
  private var answers: [NotificationID: Set<Answer>] = [:]
  /// The retry records of a notification in the order of reading, as text.
  private var retries: [NotificationID: [String]] = [:]
  /// The time at which a notification on the longest retry topic is due, in milliseconds since the epoch.
  private var longWaits: [NotificationID: Int64] = [:]
  /// Notifications that are on any topic that senders read.
  private var onLanes: Set<NotificationID> = []
  /// The origins of records that became dead letters.
  private var deadOrigins: Set<DeadLetterOrigin> = []
  /// Dead letters of records that senders read, by reason, without ingest's.
  public private(set) var senderDeadLetters: [String: Int] = [:]
  /// Notifications that senders turned into dead letters.
  private var givenUp: Set<NotificationID> = []
  /// The time at which a notification expires, in milliseconds since the epoch.
  private var ends: [NotificationID: Int64] = [:]
  /// Devices that were sent nothing because they were considered invalid.
  private var suppressed: Set<DemoGateway.Device> = []
  /// Malformed records, written on purpose, that must become dead letters.
  private var poison: Set<DeadLetterOrigin> = []
  /// All records written on purpose.
  private var planted: Set<DeadLetterOrigin> = []
  /// Times for which the gateway's list was lost with its process, in milliseconds since the epoch.
  private var blindSpots: [ClosedRange<Int64>] = []
  /// The number of notifications that the gateway accepted.
  public private(set) var accepted = 0
  /// The times of acceptance in the gateway's list, in milliseconds since the epoch.
  public private(set) var acceptedAt: [Int64] = []
  /// The number of requests that the gateway answered with 503.
  public private(set) var unavailable = 0
  /// The number of `rejected` receipts without a reason of APNs.
  public private(set) var rejectedWithoutReason = 0
  /// The number of requests that the gateway answered with TooManyProviderTokenUpdates.
  public private(set) var tokenRefusals = 0
  /// Devices that the gateway reported as unregistered.
  public private(set) var unregistered: Set<DemoGateway.Device> = []
  /// Devices that registered after the gateway last saw them: valid, whatever the gateway says.
  public private(set) var registered: Set<DemoGateway.Device> = []
  /// The time at which a notification reached its lane (milliseconds since the epoch), and its app.
  private var arrivals: [NotificationID: (at: Int64, app: String)] = [:]

  /// The number of devices of each request to users, by request id, according to each of its summaries.
  private(set) var summaries: [String: [Int]] = [:]

  /// Pushes with a key.
  var states = StateAudit()

  /// Reasons that come from the application, not the gateway.
  private static let released = DeviceRelease.Reason.allCases.map { "\($0.word)" }

  public init() {}

  public var hasBlindSpots: Bool { !blindSpots.isEmpty }

  // MARK: What is read

  public func receipt(_ receipt: Receipt) {
    if receipt.outcome == .addressed, let id = receipt.id {
      summaries[id, default: []].append(Int(receipt.addressed ?? 0))
    }
    guard let id = receipt.apnsID else { return }
    ledger.receipt(id, receipt.outcome, reason: receipt.reason)
    if receipt.outcome == .superseded { states.superseded(id) }
    if receipt.outcome == .rejected, receipt.reason.flatMap({ Reason($0) }) == nil {
      rejectedWithoutReason += 1
    }
    if receipt.outcome == .suppressed, let token = receipt.token, let app = receipt.app,
      !Self.released.contains(receipt.reason ?? "")
    {
      suppressed.insert(DemoGateway.Device(token: token, app: app))
    }
    let isAboutFate =
      switch receipt.outcome {
      case .delivered, .rejected, .expired, .deadLettered, .superseded, .cancelled: true
      case .deduplicated, .suppressed, .addressed: false
      }
    guard isAboutFate, receipt.at < firsts[id]?.at ?? .max else { return }
    let answer = receipt.status.map { Answer(status: $0, reason: receipt.reason ?? "") }
    firsts[id] = FirstReceipt(outcome: receipt.outcome, answer: answer, at: receipt.at)
  }

  /// Records a dead letter of `origin`; `id` if the sender knew it.
  public func deadLetter(
    _ origin: DeadLetterOrigin?, id: NotificationID?, isOneToken: Bool, isRequest: Bool,
    reason: String
  ) {
    if let origin, !isOneToken { deadOrigins.insert(origin) }
    if !isRequest {
      senderDeadLetters[reason, default: 0] += 1
      if let id { givenUp.insert(id) }
    }
    if let id {
      ledger.deadLetter(id, reason: reason)
    } else if let origin, isRequest {
      ledger.deadLetter(
        partition: origin.partition, offset: origin.offset, isOneToken: isOneToken, reason: reason)
    }
  }

  /// Records a record on a topic that senders read.
  ///
  /// - Parameters:
  ///   - retry: On a retry topic: its name, attempts and reason, as text.
  ///   - due: On the longest retry topic: the time at which it is due, in milliseconds since the epoch.
  ///   - end: Its expiration, in the same unit.
  ///   - arrival: The time at which it reached its lane, in the same unit, and its app.
  public func laneRecord(
    _ id: NotificationID, retry: String? = nil, due: Int64? = nil, end: Int64 = .max,
    arrival: (at: Int64, app: String)? = nil
  ) {
    onLanes.insert(id)
    if let arrival, arrivals[id] == nil { arrivals[id] = arrival }
    ends[id] = min(end, ends[id] ?? .max)
    if let retry { retries[id, default: []].append(retry) }
    if let due { longWaits[id] = due }
  }

  /// Whether a notification waits, or waited, on the longest retry topic.
  public func waitsLong(_ id: NotificationID) -> Bool { longWaits[id] != nil }

  /// The latest due time on the longest retry topic, in milliseconds since the epoch; nil if nothing waits there.
  public var lastDue: Int64? {
    longWaits.filter { ledger[$0.key]?.isAccountedFor != true }.values.max()
  }

  /// Records a request in the gateway's list.
  public func gatewaySaw(_ request: GatewayRequest) {
    // A response without a reason did not come from APNs.
    if request.status == 410, request.reason != nil, let device = request.device {
      gatewayForgot(device)
    }
    if request.status == 200 { acceptedAt.append(request.time) }
    guard let id = request.id else { return }
    if request.status == 200 { states.accepted(id) }
    gatewayAnswered(id, status: request.status, reason: request.reason)
  }

  /// Records that the gateway reported a device as unregistered.
  public func gatewayForgot(_ device: DemoGateway.Device) { unregistered.insert(device) }

  /// Records that a device registered again, later than the gateway last saw it.
  public func registeredAgain(_ device: DemoGateway.Device) { registered.insert(device) }

  public func gatewayAnswered(_ id: NotificationID, status: Int, reason: String?) {
    ledger.answered(id, status: status)
    if status == 200 { accepted += 1 }
    if status == 503 { unavailable += 1 }
    if reason == "TooManyProviderTokenUpdates" { tokenRefusals += 1 }
    answers[id, default: []].insert(Answer(status: UInt16(clamping: status), reason: reason ?? ""))
  }

  /// Records that the gateway's list for this time is lost, because its process was killed.
  public func gatewayWasBlind(_ time: ClosedRange<Int64>) { blindSpots.append(time) }

  /// Records that a malformed record was written.
  ///
  /// - Parameter mustEnd: Whether it must become a dead letter.
  public func poisoned(_ origin: DeadLetterOrigin, mustEnd: Bool = true) {
    planted.insert(origin)
    if mustEnd { poison.insert(origin) }
  }

  /// Whether a record was written on purpose to disturb its consumers.
  public func isPlanted(_ origin: DeadLetterOrigin) -> Bool { planted.contains(origin) }

  // MARK: What is concluded

  /// The devices that must be considered invalid in the end.
  public var invalid: Set<DemoGateway.Device> { unregistered.subtracting(registered) }

  /// The response times from the lane on, in milliseconds, shortest first, of the notifications that reached their lane
  /// in this range, for apps other than `app`. The greatest number stands for missing responses.
  public func answerTimes(arrived: ClosedRange<Int64>, otherThan app: String) -> [Int64] {
    arrivals.compactMap { id, arrival -> Int64? in
      guard arrival.app != app, arrived.contains(arrival.at) else { return nil }
      if let first = firsts[id] { return max(0, first.at - arrival.at) }
      // Suppressed, a repeat, or a dead letter: no response is expected.
      return ledger[id]?.isAccountedFor == true ? nil : .max
    }.sorted()
  }

  /// Whether a record of a lane or retry topic may be below a committed offset: its outcome, or a later record of it,
  /// is in Kafka.
  public func isClosed(_ id: NotificationID?, at origin: DeadLetterOrigin) -> Bool {
    if deadOrigins.contains(origin) { return true }
    guard let id else { return false }
    return ledger[id]?.isAccountedFor == true || retries[id] != nil
  }

  /// The number of requests below the ingest group's committed offset that are partly neither on a lane nor accounted
  /// for.
  public func overtakenRequests(partition: Int32, below offset: Int64) -> Int {
    ledger.open(partition: partition, below: offset) { onLanes.contains($0) }
  }

  /// Whether the gateway's list agrees with a notification's first receipt.
  private func agrees(_ id: NotificationID, _ first: FirstReceipt) -> Bool {
    switch first.outcome {
    case .delivered:
      if answers[id]?.contains(where: { $0.status == 200 }) == true { return true }
    case .rejected:
      // Without a response of the gateway, the sender itself decided.
      guard let answer = first.answer else { return true }
      // The list has no reason for a fault's own response: only the status can be compared.
      let unnamed = Answer(status: answer.status, reason: "")
      if let said = answers[id], said.contains(answer) || said.contains(unnamed) { return true }
    case .expired:
      // A notification that would expire before its next attempt may end earlier by the shortest retry delay.
      return ends[id].map { $0 <= first.at + RetryTier.shortest.delay } ?? false
    case .deadLettered, .suppressed, .deduplicated, .superseded, .cancelled, .addressed: return true
    }
    return blindSpots.contains { $0.contains(first.at) }
  }

  /// Notifications whose only receipt says that they were repeats, although nothing reports the outcome of the
  /// original: lost without notice.
  public var onlyDeduplicated: [NotificationID] {
    ledger.expectedIDs.filter { id in
      guard let account = ledger[id], account.deduplicated > 0 else { return false }
      return account.receipts == 0 && account.suppressed == 0 && !account.isDeadLetter
    }
  }

  /// Notifications of the load that a sender gave up: no fault here lasts as long as the attempts.
  public var abandoned: [NotificationID] { givenUp.filter { ledger[$0]?.isExpected == true } }

  /// Devices that were considered invalid although the gateway never reported it.
  public var wronglySuppressed: [DemoGateway.Device] {
    suppressed.filter { !unregistered.contains($0) }
  }

  /// Notifications whose first receipt contradicts the gateway's list or their own expiration.
  public var untrue: [NotificationID] {
    firsts.filter { id, first in ledger[id]?.isExpected == true && !agrees(id, first) }.map(\.key)
  }

  /// Notifications that the gateway accepted, or that got a final receipt, more than once.
  public var repeated: [NotificationID] {
    firsts.keys.filter { id in
      guard let account = ledger[id], account.isExpected else { return false }
      return max(account.accepted, account.receipts) > 1
    }
  }

  /// Malformed records that did not become dead letters.
  public var undigested: [DeadLetterOrigin] { poison.filter { !deadOrigins.contains($0) } }

  /// Describes a notification, for finding the cause.
  public func describe(_ id: NotificationID) -> String {
    guard let account = ledger[id] else { return "\(id): unknown" }
    let first =
      firsts[id].map { first in
        let answer = first.answer.map { " (\($0.status) \($0.reason))" } ?? ""
        return "\(first.outcome)\(answer) at \(first.at)"
      } ?? "none"
    let said = answers[id]?.map { "\($0.status) \($0.reason)" }.joined(separator: ", ") ?? "none"
    let asked = ledger.expectedIDs.count { $0 == id }
    return "\(id), asked for \(asked) times: first receipt \(first);"
      + " receipts \(account.receipts), deduplicated \(account.deduplicated),"
      + " suppressed \(account.suppressed); gateway: \(said);"
      + " retries: \(retries[id]?.joined(separator: ", ") ?? "none")"
  }
}
