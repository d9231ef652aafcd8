// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Telemetry

/// The counters of brokers that hold a process back.
enum HoldCounter: Int, MetricTable {
  case throttledMilliseconds

  var row: MetricRow {
    switch self {
    case .throttledMilliseconds:
      .counter(
        "martlet_kafka_throttled_seconds_total", isMilliseconds: true,
        event: ServiceKitLog.brokerDelays,
        "Time that brokers have delayed answers to this process because a quota of its Kafka user or client id was used up."
      )
    }
  }
}

/// Looks at the cluster of a running service every ten seconds, and says what librdkafka does not: whether it can be
/// reached; which rights this process lacks; that a topic has more partitions, or fewer, which clients follow by
/// themselves (`topic.metadata.refresh.interval.ms`); what holds the process back although nothing fails, a quota or a
/// transaction that another producer has left open; and that one of its clients finds no broker any more.
///
/// A thread of its own asks, over a connection of its own, until the service is told to stop.
struct ClusterWatch {
  /// Between two looks, as long as between two of the clients' own.
  static let intervalMilliseconds: Int32 = 10_000
  private static let answerMilliseconds: Int32 = 2_000
  private static let clientMilliseconds: Int32 = 1_000
  /// The first librdkafka that forgets brokers.
  private static let forgetful = LibraryVersion(2, 10, 0)

  private let configuration: KafkaConfiguration
  private let context: ServiceContext
  private let counters = Counters<HoldCounter>()
  private var sizes: TopicSizes
  /// The topics of `sizes`.
  private let followed: Set<String>
  private var probe: ReadProbe?
  private var clients = StrandedClients()
  /// Milliseconds that brokers had delayed answers at the last look.
  private var throttled = 0
  private var quota = ProblemReminder(quiet: 0)
  /// Most transactions end within this time.
  private var transaction = ProblemReminder(quiet: 10_000)

  /// - Parameter counts: the partitions of each topic, asked for a moment ago.
  init(_ configuration: KafkaConfiguration, _ counts: [String: Int], _ context: ServiceContext) {
    self.configuration = configuration
    self.context = context
    sizes = TopicSizes(counts)
    followed = Set(counts.keys)
    context.counters.add(counters)
  }

  /// - Parameters:
  ///   - begin: is called once, on the watch's thread.
  ///   - tell: takes the changes of topics, on the watch's thread.
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
      var watch = ClusterWatch(configuration, counts, context)
      // What is missing is said at the start.
      _ = try? watch.listTopics(admin)
      // Not before: a cluster may leave its questions without an answer.
      begin(admin)
      while !context.signals.isStopping {
        _ = loop.wait(intervalMilliseconds)
        if context.signals.isStopping { break }
        watch.look(admin, tell)
      }
    }
    thread.detach()
  }

  private mutating func look(_ admin: KafkaAdmin, _ tell: (TopicChange) -> Void) {
    KafkaLog.sayWhatEnded()
    let listing = try? listTopics(admin)
    context.status.set("kafka", obstacle: listing == nil ? ClusterView.unreachable : nil)
    findStranded(isReached: listing != nil, now: MonotonicClock.milliseconds())
    // Without an answer nothing is known.
    guard let listing else { return }
    let counts = listing.sizes.mapValues(\.partitions)
    for change in sizes.observe(counts, unknown: listing.unknown(among: followed)) {
      context.group.counted(change.topic, change.to)
      tell(change)
    }
    let held = context.group.look(admin)
    let now = MonotonicClock.milliseconds()
    noteThrottling(now)
    noteTransaction(held, now)
  }

  // MARK: Topics and rights

  /// The service's topics; tells the board of rights which of them this process may see and read. Kafka has no question
  /// for the right to write: the producers' first records tell (`ProducerWatch`).
  mutating func listTopics(_ admin: KafkaAdmin) throws(KafkaError) -> TopicListing {
    let rights = context.rights.rights
    let listing = try admin.topicListing(
      naming: Array(followed.union(rights?.topics ?? [])),
      timeoutMilliseconds: Self.answerMilliseconds)
    context.rights.saw(listing)
    let readable = (rights?.readTopics ?? []).filter { listing.sizes[$0] != nil }
    if !readable.isEmpty { read(readable) }
    return listing
  }

  private mutating func read(_ topics: [String]) {
    // It can only fail for want of memory or threads; then the next look tries again.
    if probe == nil { probe = try? ReadProbe(configuration) }
    guard let probe else { return }
    for (topic, answer) in probe.ask(topics, timeoutMilliseconds: Self.answerMilliseconds) {
      switch answer {
      case .allowed: context.rights.allowed(.read, .topic(topic))
      case .refused(let error): context.rights.refused(.read, .topic(topic), error)
      case .unanswered: break
      }
    }
  }

  static func report(_ change: TopicChange, of names: TopicNames, _ log: Logger) {
    let kind = event(change, of: names)
    guard kind == .partitionsAddedToTable else {
      return log(
        kind, ["topic": change.topic, "from": "\(change.from)", "to": "\(change.to)"])
    }
    let mustBeOne = names.mustHaveOnePartition(change.topic)
    log(
      kind,
      [
        "topic": change.topic, "from": "\(change.from)", "to": "\(change.to)",
        "consequence": mustBeOne
          ? "senders miss provider tokens, and two signers mint at the same time"
          : "of a key that moved, the former partition keeps an older record; programs that follow the topic read the"
            + " added ones after a restart only",
        "remedy": mustBeOne
          ? "delete the topic and create it again with one partition: martlet topics create"
          : "restart the programs that read it (docs/operations.md#adding-partitions)",
      ])
  }

  static func event(_ change: TopicChange, of names: TopicNames) -> ServiceKitLog {
    if change.from == 0 { return .topicExistsAgain }
    if change.to == 0 { return .topicGone }
    if change.to < change.from { return .topicRecreatedSmaller }
    return names.mustKeepPartitions(change.topic) ? .partitionsAddedToTable : .partitionsAdded
  }

  // MARK: Clients

  /// Ends the process when one of its clients finds no broker any more although there is one (`StrandedClients`).
  ///
  /// - Parameter isReached: whether a client of the process has just reached the cluster.
  mutating func findStranded(isReached: Bool, now: UInt64) {
    guard LibraryVersion.librdkafka >= Self.forgetful, !context.signals.isStopping else { return }
    let names =
      isReached || canBeReached
      ? OpenClients.withoutBroker(timeoutMilliseconds: Self.clientMilliseconds) : nil
    guard let name = clients.saw(names, now: now) else { return }
    context.fail(
      ServiceFailure(
        "the Kafka client \(name) has found no broker for \(StrandedClients.patience / 1_000) s although there"
          + " is one: librdkafka has forgotten the cluster (librdkafka#5301), and only a new process helps;"
          + " what was not committed is done again"))
  }

  /// Asks by a client of its own.
  private var canBeReached: Bool {
    guard let admin = try? KafkaAdmin(configuration) else { return false }
    defer { admin.close() }
    return (try? admin.awaitAnswer(timeoutMilliseconds: Self.clientMilliseconds)) != nil
  }

  // MARK: What holds the process back

  private mutating func noteThrottling(_ now: UInt64) {
    let grown = KafkaThrottle.milliseconds - throttled
    throttled += grown
    if grown > 0 { counters.add(.throttledMilliseconds, grown) }
    switch quota.step(isFailing: grown > 0, now: now) {
    case .nothing: break
    case .report:
      context.log(
        ServiceKitLog.brokerDelays,
        [
          "broker": KafkaThrottle.broker.map { "\($0)" } ?? "", "milliseconds": "\(grown)",
          "remedy":
            "raise the quota of this Kafka user or client id (producer_byte_rate, consumer_byte_rate,"
            + " request_percentage; kafka-configs.sh --describe --entity-type users shows it)",
        ])
    case .reportResolved: context.log(ServiceKitLog.noBrokerDelays)
    }
  }

  private mutating func noteTransaction(_ held: GroupFigures.Held?, _ now: UInt64) {
    switch transaction.step(isFailing: held != nil, now: now) {
    case .nothing: break
    case .report:
      guard let held else { return }
      context.log(
        ServiceKitLog.openTransaction,
        [
          "partition": "\(held.partition)", "offset": "\(held.offset)",
          "seconds": "\(held.milliseconds / 1_000)",
          "remedy":
            "the producer has to commit or abort it, or the broker does after its transaction.timeout.ms;"
            + " kafka-transactions.sh find-hanging, and abort, end one that stays",
        ])
    case .reportResolved: context.log(ServiceKitLog.transactionEnded)
    }
  }
}
