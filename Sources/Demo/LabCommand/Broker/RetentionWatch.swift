// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import ServiceKit

/// Says what becomes of the embedded broker's records: which writers wait for readers, which rings have turned, and,
/// loudly, if ever a record was dropped that somebody still had to read.
final class RetentionWatch {
  /// The prefix of the line that reports lost records.
  static let lossMessage =
    "UNREAD RECORDS WERE DROPPED: the embedded broker keeps 5 MiB per partition"

  private let broker: EmbeddedBroker
  private let topics: [BrokerTopic]
  private let context: ServiceContext
  private let counters = Counters<BrokerMetrics>()
  private var filled: Set<String> = []
  private var losses = 0
  private let wakeup = Wakeup()

  init(_ broker: EmbeddedBroker, _ topics: [BrokerTopic], _ context: ServiceContext) {
    self.broker = broker
    self.topics = topics
    self.context = context
    context.counters.add(counters)
    context.signals.subscribe(wakeup)
  }

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
    let dropped = counters[.droppedUnread]
    guard dropped > 0 else { return }
    throw ServiceFailure(
      "\(dropped) unread records were dropped: the embedded broker keeps 5 MiB per"
        + " partition. Use more partitions (--partitions) or a real Kafka cluster.")
  }

  func look() {
    let backlog = broker.backlog
    counters.set(.records, backlog.records)
    counters.set(.leftRings, backlog.passed)
    counters.set(.droppedUnread, backlog.losses.reduce(0) { $0 + $1.records })
    for topic in topics where backlog.filled.contains(topic.name) {
      if filled.insert(topic.name).inserted { report(full: topic) }
    }
    for loss in backlog.losses[losses...] {
      context.log.error(
        Self.lossMessage,
        ["partition": "\(loss.topic) [\(loss.partition)]", "count": "\(loss.records)"])
    }
    losses = backlog.losses.count
  }

  private func report(full topic: BrokerTopic) {
    if topic.isTable {
      context.log.error(
        "a table is full, so its writers wait for good: restart the pipeline or use a real cluster",
        ["topic": topic.name])
    } else if let reader = topic.reader {
      context.log.info(
        "readers are behind: from now on writers wait for them where a partition is full",
        ["topic": topic.name, "reader": reader])
    } else {
      context.log.info(
        "ring buffer full: dropping its oldest records from now on", ["topic": topic.name])
    }
  }
}
