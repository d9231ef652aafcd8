// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
public import Contract
import EventLoop
import Glibc
public import Kafka
import Telemetry

/// The cluster as a service finds it when it starts: what it is, and how many partitions the topics have.
///
/// Everything that only a broker knows is asked here, with patience: what a service makes of it (producers,
/// consumers, tables) needs no broker to be made. From then on `ClusterWatch` follows the counts.
public struct ClusterView: Sendable {
  public var configuration: KafkaConfiguration
  /// The number of partitions of each topic that the service needs.
  public let partitions: [String: Int]
  /// Optional topics that this user may not see: whether they exist is not known.
  public let hidden: Set<String>

  /// Waits until a broker answers and shows the topics, for as long as that takes, and says so in the log.
  ///
  /// - Parameters:
  ///   - rights: what the service needs, its topics among them.
  ///   - optional: topics that it can work without; older clusters may not have them.
  ///   - names: the table that they are in; warns of settings that differ from it.
  /// - Returns: nil when a stop was requested meanwhile.
  /// - Throws: what no waiting heals: a topic that is missing, a broker that refuses us or cannot be trusted.
  public static func wait(
    _ configuration: KafkaConfiguration, _ rights: KafkaRights, optional: [String] = [],
    of names: TopicNames, _ context: ServiceContext
  ) throws(ServiceFailure) -> ClusterView? {
    let topics = rights.topics.filter { !optional.contains($0) }
    context.rights.begin(rights, user: configuration.user)
    if let warning = KafkaFindings.login(configuration.saslMechanism, .librdkafka) {
      context.log(ServiceKitLog.oldLibrary, ["because": warning.message, "remedy": warning.remedy])
    }
    let found: ClusterView?
    do throws(KafkaError) {
      var wait = try ClusterWait(configuration, context)
      defer { wait.admin.close() }
      found = try wait.find(topics, optional: optional)
    } catch {
      throw ServiceFailure("cannot start on Kafka at \(configuration.bootstrap): \(error)")
    }
    for topic in topics where found != nil && found?.partitions[topic] == nil {
      throw ServiceFailure("topic \(topic) does not exist; martlet topics create creates it")
    }
    guard var found else { return nil }
    found.configuration.isDeadly = { context.isDeadly($0) }
    try follow(found, names, context)
    return found
  }

  /// The obstacles of the condition `kafka`.
  static let unreachable = "Kafka is unreachable"
  static let unreadable = "what answers at --kafka is no Kafka broker that can be read"

  /// Says what is strange about the topics, and from now on when the number of a topic's partitions changes, and
  /// notes whether Kafka can be reached.
  private static func follow(
    _ found: ClusterView, _ names: TopicNames, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let topics = names.all.filter { found.partitions[$0.name] != nil }
    try orFail {
      try ClusterWatch.start(
        found.configuration, found.partitions, context,
        begin: { admin in
          // Without an answer, or without the right to ask, nothing is known.
          try? TopicCheck(topics, of: names, admin, timeoutMilliseconds: 5_000).report(context.log)
        }, tell: { ClusterWatch.report($0, of: names, context.log) })
    }
  }

  public func partitions(of topics: [String]) -> Int {
    topics.reduce(0) { $0 + (partitions[$1] ?? 0) }
  }
}

private struct ClusterWait {
  /// The longest time until a stop request is noticed.
  private static let sliceMilliseconds: Int32 = 250
  private static let answerMilliseconds: Int32 = 5_000

  let admin: KafkaAdmin
  private let configuration: KafkaConfiguration
  private let context: ServiceContext
  private var patience = BrokerWait(now: MonotonicClock.milliseconds())
  /// The last thing that went wrong, and the last refusal that no waiting heals.
  private var trouble: KafkaError?
  private var refusal: KafkaError?
  private var errors = RepeatedMessages()

  init(_ configuration: KafkaConfiguration, _ context: ServiceContext) throws(KafkaError) {
    admin = try KafkaAdmin(configuration)
    self.configuration = configuration
    self.context = context
  }

  /// The cluster with those of the topics that it has; nil when a stop was requested before it answered, or before this
  /// user was allowed to see them.
  mutating func find(_ topics: [String], optional: [String]) throws(KafkaError) -> ClusterView? {
    while !context.signals.isStopping {
      do throws(KafkaError) {
        // The first answer, in slices: a stop request is to be heard.
        try admin.awaitAnswer(timeoutMilliseconds: Self.sliceMilliseconds)
        let listing = try admin.topicListing(
          naming: topics + optional, timeoutMilliseconds: Self.answerMilliseconds)
        context.status.set("kafka", obstacle: nil)
        context.rights.saw(listing)
        let hiddenOptional = Set(listing.hidden.keys).intersection(optional)
        // An optional one that is not answered for may be there: its readers would do without it until a restart.
        let unknown = listing.unknown(among: topics + optional).subtracting(hiddenOptional)
        guard unknown.isEmpty else {
          report(unknown, listing)
          usleep(UInt32(Self.sliceMilliseconds) * 1_000)
          continue
        }
        if patience.hasReported {
          context.log(ServiceKitLog.connected, ["kafka": configuration.bootstrap])
        }
        let counts = listing.sizes.mapValues(\.partitions)
        return ClusterView(
          configuration: configuration,
          partitions: counts.filter { (topics + optional).contains($0.key) },
          hidden: hiddenOptional)
      } catch {
        guard error.isRetriable else { throw error }
        try noAnswer(error)
      }
    }
    return nil
  }

  /// Says of which topics it is waited for an answer; those that are hidden are missing rights (`RightsBoard`).
  private mutating func report(_ unknown: Set<String>, _ listing: TopicListing) {
    let now = MonotonicClock.milliseconds()
    for topic in unknown.sorted() where listing.hidden[topic] == nil {
      guard let error = listing.errors[topic], errors.admit(error.message, now: now) != nil
      else { continue }
      context.log(ServiceKitLog.kafkaError, ["error": "\(error)"])
    }
  }

  private mutating func noAnswer(_ error: KafkaError) throws(KafkaError) {
    for heard in admin.drainErrors() {
      trouble = heard
      if heard.isRefusal, !heard.isBrokenHandshake { refusal = heard }
    }
    let isUnreadable = trouble?.isUnreadable == true
    context.status.set(
      "kafka", obstacle: isUnreadable ? ClusterView.unreadable : ClusterView.unreachable)
    switch patience.noAnswer(now: MonotonicClock.milliseconds(), isRefused: refusal != nil) {
    case .wait: break
    case .report: report(trouble ?? error)
    case .giveUp: throw refusal ?? error
    }
  }

  private func report(_ error: KafkaError) {
    let seconds = patience.waited(now: MonotonicClock.milliseconds()) / 1_000
    if error.isUnreadable {
      return context.log(
        ServiceKitLog.noKafkaBroker,
        ["kafka": configuration.bootstrap, "seconds": "\(seconds)", "error": "\(error)"])
    }
    context.log(
      ServiceKitLog.noBrokerAnswers,
      ["kafka": configuration.bootstrap, "seconds": "\(seconds)", "error": "\(error)"])
  }
}
