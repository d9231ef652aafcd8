// SPDX-License-Identifier: Apache-2.0
import Contract

/// The entries of the broker's state: topics, committed offsets, start offsets of logs. They are read in order after a
/// restart, and rewritten as a whole when most of them are obsolete (`Node.journal`).
public enum Journal {
  private static let schema = FieldSchema.fields(
    """
    Kind:i8 Group:s Topic:s Number:i64 Id:u Index:i32 Offset:i64 Epoch:i32 Metadata:s?
    Configs:[ Name:s Value:s? ]
    """)

  enum Kind: Int64 {
    case topic = 1
    case topicGone
    case offset
    case offsetGone
    case groupGone
    case start
    case producers
    case cluster
  }

  static func entry(_ kind: Kind, _ fields: [String: Value]) -> [UInt8] {
    var all = fields.map { Value.Field(name: $0.key, value: $0.value) }
    all.append(.init(name: "Kind", value: .int(kind.rawValue)))
    var writer = MessageWriter()
    writer.message(.fields(all), schema, version: 0, isFlexible: true)
    return writer.bytes
  }

  static func topic(_ topic: Node.Topic) -> [UInt8] {
    let configs: [Value] = topic.settings.given.sorted { $0.key < $1.key }.map {
      ["Name": .text($0.key), "Value": .text($0.value)]
    }
    return entry(
      .topic,
      [
        "Topic": .text(topic.name), "Number": .number(topic.number), "Id": .bytes(topic.id[...]),
        "Index": .number(topic.logs.count), "Configs": .list(configs),
      ])
  }

  static func gone(topic: Int64) -> [UInt8] { entry(.topicGone, ["Number": .number(topic)]) }

  static func offset(
    _ group: ExactText, _ partition: TopicPartition, _ committed: Group.Committed
  ) -> [UInt8] {
    entry(
      .offset,
      [
        "Group": .text(group.text), "Topic": .text(partition.topic),
        "Index": .number(partition.partition), "Offset": .number(committed.offset),
        "Epoch": .number(committed.epoch), "Metadata": .optional(committed.metadata),
      ])
  }

  static func gone(offset: TopicPartition, of group: ExactText) -> [UInt8] {
    entry(
      .offsetGone,
      [
        "Group": .text(group.text), "Topic": .text(offset.topic),
        "Index": .number(offset.partition),
      ])
  }

  static func gone(group: ExactText) -> [UInt8] { entry(.groupGone, ["Group": .text(group.text)]) }

  static func start(_ log: LogID, _ offset: Int64) -> [UInt8] {
    entry(
      .start,
      ["Number": .number(log.topic), "Index": .number(log.partition), "Offset": .number(offset)])
  }

  static func cluster(_ id: String) -> [UInt8] { entry(.cluster, ["Group": .text(id)]) }

  static func producers(_ next: Int64) -> [UInt8] { entry(.producers, ["Offset": .number(next)]) }

  static func read(_ bytes: ArraySlice<UInt8>) -> Value? {
    var reader = MessageReader(bytes)
    return try? reader.message(schema, version: 0, isFlexible: true)
  }
}

extension Node {
  /// The complete state as entries.
  public var journal: [[UInt8]] {
    var entries = [
      Journal.producers((nextProducer / 1_000 + 1) * 1_000), Journal.cluster(clusterID),
    ]
    for topic in topics.values.sorted(by: { $0.number < $1.number }) {
      entries.append(Journal.topic(topic))
      for log in topic.logs where log.start > 0 { entries.append(Journal.start(log.id, log.start)) }
    }
    for (name, group) in groups {
      for (partition, committed) in group.offsets {
        entries.append(Journal.offset(name, partition, committed))
      }
    }
    return entries
  }

  /// Applies an entry of an earlier process. Returns false if it cannot be read.
  public mutating func restore(_ entry: ArraySlice<UInt8>) -> Bool {
    guard let entry = Journal.read(entry), let kind = Journal.Kind(rawValue: entry["Kind"].int)
    else { return false }
    let partition = TopicPartition(entry["Topic"].text, entry["Index"].int32)
    let (number, name) = (entry["Number"].int, entry["Group"].text.exact)
    switch kind {
    case .topic: restoreTopic(entry)
    case .topicGone:
      guard let topic = topics.values.first(where: { $0.number == number }) else { break }
      topics[topic.name] = nil
      namesByID[topic.id] = nil
      for name in groups.keys {
        groups[name]!.offsets = groups[name]!.offsets.filter { $0.key.topic != topic.name }
      }
    case .offset:
      groups[name, default: Group()].offsets[partition] = .init(
        offset: entry["Offset"].int, epoch: entry["Epoch"].int32,
        metadata: entry["Metadata"].optionalText)
    case .offsetGone: groups[name]?.offsets[partition] = nil
    case .groupGone: groups[name] = nil
    case .start:
      guard let topic = topics.values.first(where: { $0.number == number }),
        topic.has(partition.partition)
      else { break }
      topics[topic.name]!.logs[Int(partition.partition)].restoreStart(entry["Offset"].int)
    case .cluster: clusterID = name.text
    case .producers: nextProducer = max(nextProducer, entry["Offset"].int)
    }
    return true
  }

  private mutating func restoreTopic(_ entry: Value) {
    let (name, number) = (entry["Topic"].text, entry["Number"].int)
    let count = min(max(entry["Index"].int32, 1), 10_000)
    var topic =
      topics[name]
      ?? Topic(name: name, number: number, id: Array(entry["Id"].bytes), logs: [], leaders: [])
    topic.grow(to: count, brokers)
    topic.settings = TopicSettings()
    for config in entry["Configs"].list {
      _ = topic.settings.set(config["Name"].text, config["Value"].optionalText)
    }
    topics[name] = topic
    namesByID[topic.id] = name
    nextTopic = max(nextTopic, number + 1)
  }

  /// The existing logs; segments of others belong to no topic.
  public var logs: [LogID] { topics.values.flatMap { $0.logs.map(\.id) } }

  /// Adds segments that were found in the storage to a log, with the headers of their batches. They must be passed in
  /// order.
  public mutating func restore(_ segment: SegmentID, _ headers: [BatchHeader], at now: Moment) {
    guard let name = topics.values.first(where: { $0.number == segment.log.topic })?.name else {
      return
    }
    let isCompacted = topics[name]!.settings.isCompacting
    topics[name]!.logs[Int(segment.log.partition)]
      .adopt(segment, headers, isCompacted: isCompacted, now: now.time)
  }
}

extension Node {
  /// Lets a log end at this offset or later: an empty batch takes the offsets up to it.
  public mutating func fill(
    _ log: LogID, to end: Int64, at now: Moment, _ storage: any LogStorage
  ) throws(StorageFull) {
    guard let name = topics.values.first(where: { $0.number == log.topic })?.name else { return }
    try topics[name]!.logs[Int(log.partition)].fill(to: end, now: now.time, storage)
  }
}

extension PartitionLog {
  /// Appends batches without records, as Kafka's compaction leaves them: readers pass over their offsets.
  mutating func fill(to offset: Int64, now: Int64, _ storage: any LogStorage) throws(StorageFull) {
    while end < offset {
      let batch = Records.gap(Int32(clamping: offset - end))
      guard let header = BatchHeader(batch[...]) else { return }
      _ = try append(batch[...], header, TopicSettings(), now: now, storage)
    }
  }

  mutating func restoreStart(_ offset: Int64) {
    start = max(start, offset)
    end = max(end, start)
  }

  mutating func adopt(
    _ segment: SegmentID, _ headers: [BatchHeader], isCompacted: Bool, now: Int64
  ) {
    segments.append(.init(id: segment, end: max(end, segment.base), began: now))
    for header in headers { note(header, now: now) }
    for header in headers where isCompacted { producers[header.producer]?.mayLackBatches = true }
    end = max(end, start)
  }
}
