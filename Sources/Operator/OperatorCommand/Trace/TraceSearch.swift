// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import ServiceKit

/// Reads the topics from a time to their ends and keeps the hops about the subject.
///
/// Topics that contain both a request id and an `apns-id` come first: their ids are needed to find the request, and
/// APNs' responses about the token.
struct TraceSearch {
  private let cluster: KafkaCluster
  private let context: ServiceContext
  /// Milliseconds since the epoch.
  private let since: Int64
  private let reader = TraceReader()
  private var progress: ProgressLine?

  private(set) var subject: TraceSubject
  private(set) var hops: [TraceHop] = []
  private(set) var looked = 0
  /// Topics that this user may not see.
  private(set) var hidden: [String] = []

  init(
    _ wanted: TraceSubject.Wanted, _ cluster: KafkaCluster, since: Int64, progress: ProgressLine?,
    _ context: ServiceContext
  ) {
    self.cluster = cluster
    self.context = context
    self.since = since
    self.progress = progress
    subject = TraceSubject(wanted)
  }

  /// The topics in search order.
  private func topics(_ names: TopicNames, lanes: [String]) -> [(String, TraceReader.Content)] {
    var topics: [(String, TraceReader.Content)] = [(names.receipts, .receipts)]
    topics += lanes.map { ($0, .notifications) }
    topics += RetryTier.allCases.map { (names.retries($0), .retries("\($0.suffix)")) }
    topics += [(names.deadLetters, .deadLetters), (names.feedback, .feedback)]
    topics += [
      (names.requests, .requests), (names.campaignRequests, .requests), (names.schedule, .schedule),
    ]
    if case .token = subject.wanted {
      topics += [(names.devices, .devices), (names.invalidTokens, .invalidTokens)]
    }
    return topics
  }

  /// Searches every existing topic. Throws if Kafka cannot be read.
  mutating func run(_ names: TopicNames) throws(ServiceFailure) {
    let known = try orFail { try cluster.admin.partitionCounts(timeoutMilliseconds: 10_000) }
    // All lanes, whatever their names.
    let lanes = known.keys.filter(names.isOfLane).sorted()
    let wanted = topics(names, lanes: lanes)
    let present = wanted.filter { known[$0.0] != nil }
    // No list of all topics has those that are hidden.
    let absent = (wanted.map { $0.0 } + names.notifications).filter { known[$0] == nil }
    let listing = try orFail {
      try cluster.admin.topicListing(naming: absent, timeoutMilliseconds: 10_000)
    }
    hidden = absent.filter { listing.hidden[$0] != nil }
    guard !present.isEmpty else {
      throw ServiceFailure(
        hidden.isEmpty
          ? "there is no topic of Martlet; check --topic-prefix (\(names.prefix))"
          : "this user may see no topic of Martlet: needs Read on "
            + hidden.joined(separator: ", "))
    }
    defer { progress?.end() }
    for (topic, content) in present where !context.signals.isStopping {
      try search(topic, content, partitions: known[topic] ?? 0)
    }
  }

  private mutating func search(
    _ topic: String, _ content: TraceReader.Content, partitions: Int
  ) throws(ServiceFailure) {
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    let marks = try orFail { try cluster.admin.watermarks(all, timeoutMilliseconds: 10_000) }
    var starts: [Int32: Int64] = [:]
    let firsts = try orFail {
      try cluster.admin.offsets(all, at: since, timeoutMilliseconds: 10_000)
    }
    for (place, offset) in zip(all, firsts) { starts[place.partition] = offset }
    let total = marks.enumerated().reduce(0) { $0 + Int($1.1.high - (starts[Int32($1.0)] ?? 0)) }
    guard total > 0 else { return }
    let tail = try orFail { try KafkaTail(reading: topic, of: cluster, from: .offsets(starts)) }
    defer { tail.close() }
    var read = 0
    try tail.visit(to: marks.map(\.high), context) { record in
      look(at: record, topic, content)
      return true
    } afterBatch: { count in
      read += count
      progress?.update(count: looked, fraction: Double(read) / Double(total), note: topic)
    }
  }

  private mutating func look(
    at record: KafkaRecord, _ topic: String, _ content: TraceReader.Content
  ) {
    looked += 1
    guard record.timestamp >= since || record.timestamp < 0 else { return }
    let before = hops.count
    // Headers are copied only for topics that need them.
    let shown = ShownRecord(
      partition: record.partition, offset: record.offset, timestamp: record.timestamp,
      key: record.key, value: record.value,
      headers: content == .deadLetters ? record.headers : [])
    reader.read(shown, of: topic, content, subject, to: &hops)
    for hop in hops[before...] { subject.note(hop) }
  }
}
