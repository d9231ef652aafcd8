// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// The notifications to replay, by the receipts that name them.
struct WantedNotifications {
  /// The name of a notification: an `apns-id` is unique per app only.
  struct Name: Hashable {
    let id: NotificationID
    let app: ExactText
  }

  private struct Want {
    let at: Int64
    let mark: String
  }

  private var wants: [Name: Want] = [:]
  private let limit: Int
  /// When the oldest of them was requested, in milliseconds since the epoch, as far as receipts say so: an age limit is
  /// a lane's, and what waits while no sender runs grows older than it.
  private(set) var oldest = Int64.max
  /// The number of receipts beyond the limit.
  private(set) var left = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { wants.count }

  /// Adds a receipt of a notification that ended.
  mutating func add(_ receipt: Receipt, partition: Int32, offset: Int64) {
    guard let id = receipt.apnsID, let app = receipt.app else { return }
    let name = Name(id: id, app: app.exact)
    // The newest end counts: a further replay is distinguished by it.
    if let known = wants[name], known.at >= receipt.at { return }
    guard wants[name] != nil || wants.count < limit else {
      left += 1
      return
    }
    oldest = min(oldest, receipt.created ?? oldest)
    wants[name] = Want(at: receipt.at, mark: ReplayMark.text(partition: partition, offset: offset))
  }

  /// Removes a notification that APNs has accepted since its end, which would otherwise be sent twice.
  ///
  /// - Returns: Whether the notification was wanted.
  mutating func accepted(_ id: String?, _ app: String?, at: Int64) -> Bool {
    guard let id = id.flatMap({ NotificationID($0) }), let app,
      let want = wants[Name(id: id, app: app.exact)], at >= want.at
    else { return false }
    wants[Name(id: id, app: app.exact)] = nil
    return true
  }

  /// Records that a notification was found.
  ///
  /// - Returns: The mark of its receipt; nil if it is not wanted, or was found before.
  mutating func take(_ id: NotificationID, _ app: String) -> String? {
    wants.removeValue(forKey: Name(id: id, app: app.exact))?.mark
  }
}

struct ReceiptReplayResult: Equatable {
  /// The number of notifications by destination topic.
  var sent: [String: Int] = [:]
  /// The number accepted since.
  var delivered = 0
  var expired = 0
  /// The number whose record is no longer on any lane.
  var missing = 0
  /// The number of receipts beyond the limit.
  var left = 0
  /// The number of records that Kafka rejected permanently.
  var refused = 0
  var wasStopped = false

  func lines(isDryRun: Bool) -> [String] {
    let verb = isDryRun ? "would be sent again" : "sent again"
    var lines = sent.sorted { $0.key < $1.key }.map { "\($0.value) \(verb), to \($0.key)" }
    if delivered > 0 { lines.append("\(delivered) skipped: delivered since") }
    if expired > 0 { lines.append("\(expired) skipped: the expiration has passed") }
    if missing > 0 { lines.append("\(missing) skipped: no lane has the notification any more") }
    if left > 0 {
      lines.append("\(left) left: more than --limit; run it again after these are delivered")
    }
    if refused > 0 { lines.append("\(refused) refused by Kafka") }
    if wasStopped { lines.append("stopped before the end: the list is incomplete") }
    return lines.isEmpty ? ["no receipt matches"] : lines
  }

  func json(isDryRun: Bool) -> String {
    var topics = JSONObject()
    for (topic, count) in sent.sorted(by: { $0.key < $1.key }) {
      topics.append(topic, .integer(Int64(count)))
    }
    let object: JSONValue = [
      "dry_run": .bool(isDryRun), "replayed": .object(topics),
      "delivered_since": .integer(Int64(delivered)), "expired": .integer(Int64(expired)),
      "missing": .integer(Int64(missing)), "left": .integer(Int64(left)),
      "refused": .integer(Int64(refused)), "complete": .bool(!wasStopped),
    ]
    return String(decoding: object.text, as: UTF8.self)
  }
}

/// Finds the notifications that receipts name on their lanes, and produces them again.
final class ReceiptReplayer {
  private let walk: TopicWalk
  private let names: TopicNames
  private let filter: ReceiptReplayFilter
  private let parser = JSONParser()
  private var output: ReplayProducer?
  private(set) var result = ReceiptReplayResult()
  /// How long before the first receipt a lane got a notification whose request has no time, in milliseconds.
  private static let longestLife: Int64 = 2 * 86_400_000
  /// How far a request's clock may be ahead of that of its record on a lane, in milliseconds.
  private static let clockDifference: Int64 = 3_600_000

  init(_ walk: TopicWalk, _ names: TopicNames, _ filter: ReceiptReplayFilter) {
    self.walk = walk
    self.names = names
    self.filter = filter
  }

  /// Reads the receipts in two passes, because a later delivery may be read before the failure.
  func wanted() throws(ServiceFailure) -> WantedNotifications {
    var wanted = WantedNotifications(limit: filter.limit)
    try walk.visit([names.receipts], since: filter.since, "reading receipts") { record in
      Receipt.forEachLine(in: record.value) { line in
        guard let glance = ReceiptGlance(line), glance.outcome == filter.outcome,
          let receipt = try? Receipt(line, parser: parser), filter.matches(receipt)
        else { return }
        wanted.add(receipt, partition: record.partition, offset: record.offset)
      }
      return true
    }
    result.left = wanted.left
    guard wanted.count > 0 else { return wanted }
    try walk.visit([names.receipts], since: filter.since, "looking for deliveries") { record in
      Receipt.forEachLine(in: record.value) { line in
        guard let glance = ReceiptGlance(line), glance.outcome == "\(Outcome.delivered)",
          let keys = try? ReceiptKeys(line, parser: parser)
        else { return }
        if wanted.accepted(keys.apnsID, keys.app, at: keys.at) { result.delivered += 1 }
      }
      return true
    }
    return wanted
  }

  func replay(_ wanted: WantedNotifications, isDryRun: Bool) throws(ServiceFailure) {
    var wanted = wanted
    // Without all receipts it is not known what was delivered since.
    result.wasStopped = walk.context.signals.isStopping
    guard wanted.count > 0, !result.wasStopped else { return }
    if !isDryRun { output = try ReplayProducer(walk.cluster, names.notifications, walk.context) }
    let since = min(filter.since - Self.longestLife, wanted.oldest - Self.clockDifference)
    try walk.visit(
      names.notifications, since: max(0, since), "looking for notifications"
    ) { record throws(ServiceFailure) in
      try look(at: record, &wanted) && wanted.count > 0
    }
    // A stop that is requested while Kafka's answers are awaited leaves nothing out.
    result.wasStopped = walk.context.signals.isStopping
    if !result.wasStopped { result.missing = wanted.count }
    if let output {
      try output.finish()
      (result.sent, result.refused) = (output.sent, output.refused)
    }
  }

  func end() -> String { output?.end() ?? "nothing" }

  /// - Returns: False if the command is being stopped.
  private func look(
    at record: KafkaRecord, _ wanted: inout WantedNotifications
  ) throws(ServiceFailure) -> Bool {
    let value = record.value
    guard
      let envelope = try? Envelope.parse(
        value.bindMemory(to: UInt8.self).span, types: .any, lanes: names.lanes),
      let mark = wanted.take(
        envelope.id, String(decoding: value[envelope.app.indices], as: UTF8.self))
    else { return true }
    let now = WallClock.milliseconds()
    if let expiration = envelope.expiration, expiration != 0, expiration * 1_000 <= now {
      result.expired += 1
      return true
    }
    let topic = names.notifications(envelope.lane)
    guard let output else {
      result.sent[topic, default: 0] += 1
      return true
    }
    var again = ByteBuffer(capacity: value.count + 64)
    EnvelopeEncoder.encodeReplay(of: value, envelope, created: now, mark: mark, into: &again)
    return try output.produce(topic, key: Array(record.key), value: Array(again.bytes))
  }
}
