// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import ServiceKit
import Telemetry

/// What the broker command counts.
enum RetentionCounter: Int, CounterKey {
  /// Records written to all topics.
  case records
  /// Records that the broker dropped before their reader group had committed them, and entries that
  /// it dropped from tables.
  case droppedUnread
  /// Records that have left the rings, which have no reader group.
  case leftRings

  var kind: CounterKind { .total }
}

/// Watches that the embedded broker drops nothing that somebody still has to read.
///
/// It drops the oldest batch of a partition above 5 MiB without a word. Writers hold back before
/// that; this says loudly when one did not.
final class RetentionWatch {
  /// How the line begins that says that records are lost.
  static let lossMessage =
    "UNREAD RECORDS WERE DROPPED: the embedded broker keeps 5 MiB per partition"

  private struct Partition {
    let name: TopicPartition
    let topic: TopicSpecification
    /// Offsets below have been judged.
    var judged: Int64 = 0
    var high: Int64 = 0
    var hasComplained = false
  }

  private let admin: KafkaAdmin
  private let context: ServiceContext
  private let counters = Counters<RetentionCounter>()
  private var partitions: [Partition]
  private var fullRings: Set<String> = []
  private let wakeup = Wakeup()

  init(
    _ topics: [TopicSpecification], _ configuration: KafkaConfiguration, _ context: ServiceContext
  ) throws(KafkaError) {
    admin = try KafkaAdmin(configuration)
    self.context = context
    partitions = topics.flatMap { topic in
      (0..<topic.partitions).map {
        Partition(name: TopicPartition(topic: topic.name, partition: $0), topic: topic)
      }
    }
    context.counters.add(counters)
    context.signals.subscribe(wakeup)
  }

  /// Records dropped so far although somebody had to read them.
  var dropped: Int { counters[.droppedUnread] }

  /// Looks until the process is asked to stop.
  func run(everyMilliseconds interval: Int64) {
    var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
    while !context.signals.isStopping {
      look()
      _ = poll(&entry, 1, Int32(interval))
    }
  }

  /// The last look. Throws when something with a reader was ever dropped.
  func finish() throws(ServiceFailure) {
    look()
    admin.close()
    guard dropped > 0 else { return }
    throw ServiceFailure(
      "\(dropped) unread records were dropped: the embedded broker keeps 5 MiB per"
        + " partition. Use more partitions (--partitions), slower writers, or a real Kafka cluster."
    )
  }

  /// Compares the first offset of every partition with what its readers have committed.
  func look() {
    do throws(KafkaError) {
      let marks = try admin.watermarks(partitions.map(\.name), timeoutMilliseconds: 5_000)
      var records: Int64 = 0
      for index in partitions.indices {
        partitions[index].high = marks[index].high
        records += marks[index].high
      }
      counters.set(.records, Int(records))
      let grown = partitions.indices.filter { marks[$0].low > partitions[$0].judged }
      guard !grown.isEmpty else { return }
      let committed = try committedOffsets(grown)
      for index in grown { judge(index, low: marks[index].low, committed[partitions[index].name]) }
    } catch {
      context.log.warning("cannot read the topics' offsets", ["error": "\(error)"])
    }
  }

  private func committedOffsets(_ indices: [Int]) throws(KafkaError) -> [TopicPartition: Int64] {
    var offsets: [TopicPartition: Int64] = [:]
    for group in Set(indices.compactMap { partitions[$0].topic.readerGroup }) {
      let names = indices.filter { partitions[$0].topic.readerGroup == group }
        .map { partitions[$0].name }
      for entry in try admin.groupOffsets(group, names, timeoutMilliseconds: 5_000) {
        offsets[entry.partition] = entry.offset ?? 0
      }
    }
    return offsets
  }

  /// `low` is the first offset that is still there.
  private func judge(_ index: Int, low: Int64, _ committed: Int64?) {
    let partition = partitions[index]
    partitions[index].judged = low
    let isTable = partition.topic.cleanup == .compact
    guard isTable || partition.topic.readerGroup != nil else {
      counters.add(.leftRings, Int(low - partition.judged))
      if fullRings.insert(partition.topic.name).inserted {
        context.log.info(
          "ring buffer full: dropping its oldest records from now on",
          ["topic": partition.topic.name])
      }
      return
    }
    // A table is read from its start by everybody who comes, whatever a group has committed.
    let read = isTable ? partition.judged : max(partition.judged, committed ?? 0)
    guard low > read else { return }
    counters.add(.droppedUnread, Int(low - read))
    guard !partition.hasComplained else { return }
    partitions[index].hasComplained = true
    context.log.error(
      Self.lossMessage,
      [
        "partition": "\(partition.name)", "count": "\(low - read)",
        "reader": partition.topic.readerGroup ?? "every reader of the table",
      ])
  }
}
