// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Contract
public import LabCommand
public import Records

/// Compares, for every notification of a run, what was asked for with what five independent reports say:
/// receipts, dead letters, the records on the lanes, the gateway's list, and the offsets that readers committed.
///
/// It sees events in the order in which they were read and nothing else: no clock, no socket.
public final class Auditor {
  /// A final answer of the gateway, as its own list and as a receipt have it.
  private struct Answer: Hashable {
    let status: UInt16
    let reason: String
  }

  /// The earliest receipt of a notification that says what became of it.
  private struct FirstReceipt {
    let outcome: Outcome
    let answer: Answer?
    let at: Int64
  }

  public let ledger = DemoLedger()
  private var firsts: [NotificationID: FirstReceipt] = [:]
  private var answers: [NotificationID: Set<Answer>] = [:]
  /// The retry records of a notification in the order in which they were read, each as a person reads it.
  private var retries: [NotificationID: [String]] = [:]
  /// When a notification on the longest retry topic is due, in milliseconds since the epoch.
  private var longWaits: [NotificationID: Int64] = [:]
  /// Notifications that stand on any topic that senders read.
  private var onLanes: Set<NotificationID> = []
  /// Records that ended as dead letters, by where they came from.
  private var deadOrigins: Set<DeadLetterOrigin> = []
  /// Dead letters of records that senders read, by reason: what ingest refuses is not among them.
  public private(set) var senderDeadLetters: [String: Int] = [:]
  /// Notifications that senders made dead letters of.
  private var givenUp: Set<NotificationID> = []
  /// When a notification is of no more use, in milliseconds since the epoch.
  private var ends: [NotificationID: Int64] = [:]
  /// Devices that got nothing because they were taken for invalid.
  private var suppressed: Set<DemoGateway.Device> = []
  /// Poison that was written on purpose and must end as a dead letter.
  private var poison: Set<DeadLetterOrigin> = []
  /// All poison.
  private var planted: Set<DeadLetterOrigin> = []
  /// Times during which the gateway's list was lost with its process, in milliseconds since the epoch.
  private var blindSpots: [ClosedRange<Int64>] = []
  /// Notifications that the gateway accepted.
  public private(set) var accepted = 0
  /// When, in milliseconds since the epoch, as far as the gateway's list has them.
  public private(set) var acceptedAt: [Int64] = []
  /// Requests that the gateway answered 503.
  public private(set) var unavailable = 0
  /// Receipts that say `rejected` without a reason of APNs.
  public private(set) var rejectedWithoutReason = 0
  /// Requests that the gateway answered TooManyProviderTokenUpdates.
  public private(set) var tokenRefusals = 0
  /// Devices that the gateway called unregistered.
  public private(set) var unregistered: Set<DemoGateway.Device> = []
  /// Devices that registered after the gateway had seen them last: valid, whatever the gateway says.
  public private(set) var registered: Set<DemoGateway.Device> = []
  /// When a notification came to its lane (milliseconds since the epoch), and for which app.
  private var arrivals: [NotificationID: (at: Int64, app: String)] = [:]

  /// To how many devices a request to users went, by its id, as each of its summaries says.
  private(set) var summaries: [String: [Int]] = [:]

  /// Pushes with a key.
  var states = StateAudit()

  /// Reasons that are the application's, not the gateway's.
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

  /// A dead letter of `origin`; `id` where the sender knew it.
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

  /// A record on a topic that senders read.
  ///
  /// - Parameters:
  ///   - retry: on a retry topic: its name, attempts and reason, for people.
  ///   - due: on the longest retry topic: when it is due, in milliseconds since the epoch.
  ///   - end: when it is of no more use, likewise.
  ///   - arrival: when it came to its lane, likewise, and for which app.
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

  /// True if a notification waits, or waited, on the longest retry topic.
  public func waitsLong(_ id: NotificationID) -> Bool { longWaits[id] != nil }

  /// When the last of those is due that wait on the longest retry topic, in milliseconds since the epoch; nil if none does.
  public var lastDue: Int64? {
    longWaits.filter { ledger[$0.key]?.isAccountedFor != true }.values.max()
  }

  /// A request as the gateway's list has it.
  public func gatewaySaw(_ request: GatewayRequest) {
    // Without a reason it was not APNs that spoke.
    if request.status == 410, request.reason != nil, let device = request.device {
      gatewayForgot(device)
    }
    if request.status == 200 { acceptedAt.append(request.time) }
    guard let id = request.id else { return }
    if request.status == 200 { states.accepted(id) }
    gatewayAnswered(id, status: request.status, reason: request.reason)
  }

  /// The gateway called a device unregistered.
  public func gatewayForgot(_ device: DemoGateway.Device) { unregistered.insert(device) }

  /// A device registered again, later than the gateway saw it last.
  public func registeredAgain(_ device: DemoGateway.Device) { registered.insert(device) }

  public func gatewayAnswered(_ id: NotificationID, status: Int, reason: String?) {
    ledger.answered(id, status: status)
    if status == 200 { accepted += 1 }
    if status == 503 { unavailable += 1 }
    if reason == "TooManyProviderTokenUpdates" { tokenRefusals += 1 }
    answers[id, default: []].insert(Answer(status: UInt16(clamping: status), reason: reason ?? ""))
  }

  /// The gateway's list of this time is gone: its process was killed.
  public func gatewayWasBlind(_ time: ClosedRange<Int64>) { blindSpots.append(time) }

  /// Poison lies there; it must become a dead letter.
  ///
  /// - Parameter mustEnd: whether a dead letter must come of it.
  public func poisoned(_ origin: DeadLetterOrigin, mustEnd: Bool = true) {
    planted.insert(origin)
    if mustEnd { poison.insert(origin) }
  }

  /// True if a record was written on purpose to disturb its readers.
  public func isPlanted(_ origin: DeadLetterOrigin) -> Bool { planted.contains(origin) }

  // MARK: What is concluded

  /// Devices that must be taken for invalid in the end.
  public var invalid: Set<DemoGateway.Device> { unregistered.subtracting(registered) }

  /// The times of answers from the lane on, in milliseconds, shortest first: of the notifications that came to their
  /// lane in this time, for apps other than `app`. The greatest number stands for those that have none.
  public func answerTimes(arrived: ClosedRange<Int64>, otherThan app: String) -> [Int64] {
    arrivals.compactMap { id, arrival -> Int64? in
      guard arrival.app != app, arrived.contains(arrival.at) else { return nil }
      if let first = firsts[id] { return max(0, first.at - arrival.at) }
      // Suppressed, a repeat, or a dead letter: no answer is due.
      return ledger[id]?.isAccountedFor == true ? nil : .max
    }.sorted()
  }

  /// True if a record of a lane or retry topic may lie below a committed offset: its outcome, or the record that
  /// carries it on, is in Kafka.
  public func isClosed(_ id: NotificationID?, at origin: DeadLetterOrigin) -> Bool {
    if deadOrigins.contains(origin) { return true }
    guard let id else { return false }
    return ledger[id]?.isAccountedFor == true || retries[id] != nil
  }

  /// Requests below an offset that the ingest group committed although something of them is neither on a
  /// lane nor accounted for.
  public func overtakenRequests(partition: Int32, below offset: Int64) -> Int {
    ledger.open(partition: partition, below: offset) { onLanes.contains($0) }
  }

  /// True if the gateway's list agrees with the first receipt of a notification.
  private func agrees(_ id: NotificationID, _ first: FirstReceipt) -> Bool {
    switch first.outcome {
    case .delivered:
      if answers[id]?.contains(where: { $0.status == 200 }) == true { return true }
    case .rejected:
      // A refusal without an answer of the gateway is the sender's own.
      guard let answer = first.answer else { return true }
      // The list names no reason for what a fault made up: the status must do.
      let unnamed = Answer(status: answer.status, reason: "")
      if let said = answers[id], said.contains(answer) || said.contains(unnamed) { return true }
    case .expired:
      // One that would not live to see its next attempt may end as early as the shortest retry is long.
      return ends[id].map { $0 <= first.at + RetryTier.shortest.delay } ?? false
    case .deadLettered, .suppressed, .deduplicated, .superseded, .cancelled, .addressed: return true
    }
    return blindSpots.contains { $0.contains(first.at) }
  }

  /// Notifications whose only receipt says that they were taken before, although nothing says what became
  /// of that: lost in disguise.
  public var onlyDeduplicated: [NotificationID] {
    ledger.expectedIDs.filter { id in
      guard let account = ledger[id], account.deduplicated > 0 else { return false }
      return account.receipts == 0 && account.suppressed == 0 && !account.isDeadLetter
    }
  }

  /// Notifications of the load that a sender gave up: no fault here lasts for as long as attempts do.
  public var abandoned: [NotificationID] { givenUp.filter { ledger[$0]?.isExpected == true } }

  /// Devices that were taken for invalid although the gateway never said so.
  public var wronglySuppressed: [DemoGateway.Device] {
    suppressed.filter { !unregistered.contains($0) }
  }

  /// Notifications whose first receipt says what the gateway's list does not, or what their own time denies.
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

  /// Poison that did not become a dead letter.
  public var undigested: [DeadLetterOrigin] { poison.filter { !deadOrigins.contains($0) } }

  /// A notification in words, for whoever looks for the cause.
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
