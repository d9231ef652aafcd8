// SPDX-License-Identifier: Apache-2.0
import Bytes
import ConsumerGroup
import EventLoop
import Kafka

/// Says when a topic of a running service gets more partitions, or fewer: clients follow their number by
/// themselves (`topic.metadata.refresh.interval.ms`), and people have to know what that means. Notes whether Kafka
/// can be reached, and with every look which rights are missing (`RightsWatch`) and whether every client of the process
/// still finds the cluster (`ClientWatch`).
///
/// A thread of its own asks the cluster, over a connection of its own, until the service is told to stop.
enum PartitionWatch {
  /// Between two looks, as long as between two of the clients' own.
  static let intervalMilliseconds: Int32 = 10_000

  /// - Parameters:
  ///   - begin: is called once, on the watch's thread.
  ///   - tell: takes the changes, on the watch's thread.
  static func start(
    _ configuration: KafkaConfiguration, _ counts: [String: Int], _ context: ServiceContext,
    intervalMilliseconds: Int32 = intervalMilliseconds,
    begin: @escaping @Sendable (KafkaAdmin) -> Void = { _ in },
    tell: @escaping @Sendable (TopicChange) -> Void
  ) throws(SystemError) {
    for (topic, count) in counts { context.group.counted(topic, count) }
    let thread = try LoopThread(name: "partition-watch") {
      guard let admin = try? KafkaAdmin(configuration) else { return }
      defer { admin.close() }
      guard let loop = try? ServiceLoop(nil, context) else { return }
      var sizes = TopicSizes(counts)
      var holds = BrokerHolds(context)
      var rights = RightsWatch(configuration, context.rights)
      var clients = ClientWatch(configuration, context)
      // What is missing is said at the start. Sizes were asked for a moment ago.
      _ = try? rights.look(admin)
      // Not before: a cluster may leave its questions without an answer.
      begin(admin)
      while !context.signals.isStopping {
        _ = loop.wait(intervalMilliseconds)
        if context.signals.isStopping { break }
        KafkaLog.sayWhatEnded()
        let listing = try? rights.look(admin)
        context.status.set("kafka", obstacle: listing == nil ? ClusterView.unreachable : nil)
        clients.look(isReached: listing != nil, now: MonotonicClock.milliseconds())
        // Without an answer nothing is known.
        guard let listing else { continue }
        let counts = listing.sizes.mapValues(\.partitions)
        for change in sizes.observe(counts, hidden: Set(listing.hidden.keys)) {
          context.group.counted(change.topic, change.to)
          tell(change)
        }
        holds.turn(
          throttled: KafkaThrottle.milliseconds, by: KafkaThrottle.broker,
          context.group.look(admin), now: MonotonicClock.milliseconds())
      }
    }
    thread.detach()
  }

  /// The line for a change.
  static func report(_ change: TopicChange, _ log: Logger) {
    let fields: KeyValuePairs = [
      "topic": change.topic, "from": "\(change.from)", "to": "\(change.to)",
    ]
    if change.from == 0 {
      log(ServiceKitLog.topicExistsAgain, fields)
    } else if change.to > change.from {
      log(ServiceKitLog.partitionsAdded, fields)
    } else if change.to > 0 {
      log(ServiceKitLog.topicRecreatedSmaller, fields)
    } else {
      log(ServiceKitLog.topicGone, fields)
    }
  }
}
