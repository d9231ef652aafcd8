// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Records
import ServiceKit
import Telemetry
import Waiting

/// Scheduled requests, some cancelled at least two seconds ahead, and what the gateway received.
final class ScheduledLoad {
  private struct Entry {
    let id: String
    let due: Int64
    var isCancelled = false
  }

  private static let app = "com.example.shop"
  /// The time by which a cancellation precedes the request's time, in milliseconds.
  private static let cancelAhead: Int64 = 2_000

  private let producer: KafkaProducer
  private let requests: KafkaTopic
  private let schedule: KafkaTopic
  private var random: SeededGenerator
  private var entries: [NotificationID: Entry] = [:]
  /// Requests that can still be cancelled, by their times.
  private var waiting: [NotificationID] = []
  private(set) var count = 0
  private(set) var lastDue: Int64 = 0

  init(_ kafka: KafkaConfiguration, _ names: TopicNames, seed: UInt64) throws {
    producer = try KafkaProducer(kafka)
    requests = try producer.topic(known: names.requests)
    schedule = try producer.topic(known: names.schedule)
    random = SeededGenerator(seed: seed)
  }

  /// Produces requests that are due between 3 and 12 seconds from now, and cancels a quarter as many.
  func produce(_ count: Int) throws {
    for _ in 0..<count {
      let now = WallClock.milliseconds()
      let id = NotificationID(version4: random.next(), random.next())
      let due = now + 3_000 + Int64(random.next() % 9_000)
      let entry = Entry(id: "scheduled-\(self.count)", due: due)
      self.count += 1
      lastDue = max(lastDue, due)
      entries[id] = entry
      waiting.append(id)
      let token = (0..<4).map { _ in Self.hex(random.next()) }.joined()
      let json =
        #"{"app":"\#(Self.app)","id":"\#(entry.id)","apns_id":"\#(id)","token":"\#(token)","#
        + #""payload":{"aps":{"alert":"x"}},"send_at":"\#(Timestamp.text(milliseconds: due))"}"#
      try producer.write(requests, Array(token.utf8), Array(json.utf8))
      if random.next() % 4 == 0 { try cancelOne() }
    }
  }

  private func cancelOne() throws {
    let now = WallClock.milliseconds()
    waiting.removeAll { entries[$0]!.due - Self.cancelAhead <= now + 100 }
    guard !waiting.isEmpty else { return }
    let id = waiting.remove(at: Int(random.next() % UInt64(waiting.count)))
    entries[id]!.isCancelled = true
    let key = ScheduleKey(app: Self.app, environment: .production, id: entries[id]!.id.exact)
    try producer.write(
      schedule, Array(key.description.utf8), ScheduleCancellation(at: now, by: "chaos").value)
  }

  private static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Waits until everything has been sent, and checks it. A request that was handed back waits for up to five minutes.
  func finish(_ rig: ChaosRig) throws {
    let isDone = try rig.pump(
      every: 2_000, until: { missing(try self.times(rig)) == 0 }, within: 360_000)
    // Cancelled requests that are sent anyway show up here.
    try rig.pump(3_000)
    let times = try self.times(rig)
    judge(times, rig)
    if !isDone { rig.problem("\(missing(times)) scheduled requests were not sent") }
  }

  /// The number of requests that the gateway should have received but has not.
  private func missing(_ times: [NotificationID: [Int64]]) -> Int {
    entries.count { !$0.value.isCancelled && times[$0.key] == nil }
  }

  /// The times at which the gateway received this load's pushes.
  private func times(_ rig: ChaosRig) throws -> [NotificationID: [Int64]] {
    nonisolated(unsafe) var times: [NotificationID: [Int64]] = [:]
    let known = entries
    try rig.forEachGatewayRequest { request in
      guard let id = request.id, known[id] != nil else { return }
      times[id, default: []].append(request.time)
    }
    return times
  }

  /// Checks what the gateway received; returns text for the log.
  private func judge(_ times: [NotificationID: [Int64]], _ rig: ChaosRig) {
    var (early, late, repeats) = (0, [Int64](), 0)
    for (id, entry) in entries {
      let seen = times[id] ?? []
      if entry.isCancelled, !seen.isEmpty {
        rig.problem("\(entry.id) was cancelled two seconds before its time and sent")
      }
      if seen.contains(where: { $0 < entry.due }) {
        early += 1
        rig.problem("\(entry.id) was sent \(entry.due - (seen.min() ?? 0)) ms early")
      }
      if !entry.isCancelled, seen.isEmpty { rig.problem("\(entry.id) was lost") }
      if let first = seen.min() { late.append(first - entry.due) }
      repeats += max(0, seen.count - 1)
    }
    late.sort()
    func percentile(_ part: Double) -> Int64 {
      late.isEmpty ? 0 : late[min(late.count - 1, Int(Double(late.count) * part))]
    }
    rig.log(
      ChaosLog.scheduledRequests,
      [
        "requests": "\(entries.count)", "cancelled": "\(entries.values.count { $0.isCancelled })",
        "early": "\(early)", "repeats": "\(repeats)", "late_p50_ms": "\(percentile(0.5))",
        "late_p99_ms": "\(percentile(0.99))", "late_most_ms": "\(late.last ?? 0)",
      ])
  }

  func close() { producer.close() }
}
