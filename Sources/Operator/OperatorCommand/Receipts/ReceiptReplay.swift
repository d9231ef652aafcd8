// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import CommandKit
import Contract
import EventLoop
import Identity
import JSON
import Kafka
import Records
import ServiceKit

/// The notifications that a replay is about, by the receipts that name them.
struct WantedNotifications {
  /// An `apns-id` is an app's own.
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
  /// Receipts beyond the limit.
  private(set) var left = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { wants.count }

  /// A receipt says that it ended.
  mutating func add(_ receipt: Receipt, partition: Int32, offset: Int64) {
    guard let id = receipt.apnsID, let app = receipt.app else { return }
    let name = Name(id: id, app: app.exact)
    // The newest end counts: it is what a further replay is told from.
    if let known = wants[name], known.at >= receipt.at { return }
    guard wants[name] != nil || wants.count < limit else {
      left += 1
      return
    }
    wants[name] = Want(
      at: receipt.at, mark: ReplayMark.text(partition: partition, offset: offset))
  }

  /// A receipt says that APNs has accepted it: not before its end, or it would be sent twice.
  ///
  /// - Returns: whether that was wanted.
  mutating func accepted(_ id: String?, _ app: String?, at: Int64) -> Bool {
    guard let id = id.flatMap({ NotificationID($0) }), let app,
      let want = wants[Name(id: id, app: app.exact)], at >= want.at
    else { return false }
    wants[Name(id: id, app: app.exact)] = nil
    return true
  }

  /// A notification was found.
  ///
  /// - Returns: the mark of its receipt; nil if it is not wanted, or was found before.
  mutating func take(_ id: NotificationID, _ app: String) -> String? {
    wants.removeValue(forKey: Name(id: id, app: app.exact))?.mark
  }
}

/// The result of a replay from receipts, or of a dry run.
struct ReceiptReplayResult: Equatable {
  /// Notifications by the topic that they went to.
  var sent: [String: Int] = [:]
  /// Accepted since.
  var delivered = 0
  /// Their expiration has passed.
  var expired = 0
  /// No lane has their record any more.
  var missing = 0
  /// Receipts beyond the limit.
  var left = 0
  /// Records that Kafka will never take.
  var refused = 0
  var wasStopped = false

  var total: Int { sent.values.reduce(0, +) }

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
  /// nil: nothing is produced.
  private var output: ReplayProducer?
  private(set) var result = ReceiptReplayResult()
  /// A notification was requested, and waited, for so long before its receipt at most, in milliseconds.
  private static let longestLife: Int64 = 2 * 86_400_000

  init(_ walk: TopicWalk, _ names: TopicNames, _ filter: ReceiptReplayFilter) {
    self.walk = walk
    self.names = names
    self.filter = filter
  }

  /// What the receipts name: in two passes, for what was delivered since may be read before what ended.
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

  /// Looks for the notifications, and produces them unless it is a dry run.
  func replay(_ wanted: WantedNotifications, isDryRun: Bool) throws(ServiceFailure) {
    var wanted = wanted
    guard wanted.count > 0 else { return }
    if !isDryRun {
      output = try ReplayProducer(walk.cluster, names.notifications, walk.context)
    }
    try walk.visit(
      names.notifications, since: filter.since - Self.longestLife, "looking for notifications"
    ) { record throws(ServiceFailure) in
      try look(at: record, &wanted) && wanted.count > 0
    }
    if let output {
      try output.finish()
      (result.sent, result.refused) = (output.sent, output.refused)
    }
    result.wasStopped = walk.context.signals.isStopping
    if !result.wasStopped { result.missing = wanted.count }
  }

  /// - Returns: false when the command is being stopped.
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
