// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
import Glibc
public import Kafka

/// Asks a cluster what a program needs to know before it runs: brokers, topics with their settings, and whether this
/// user may see and read them and use the group. Changes nothing, commits nothing and joins no group, so the right to
/// write cannot be asked for.
public struct KafkaSurvey {
  /// Until a broker must have answered; of each further question.
  private static let answerMilliseconds: Int32 = 5_000
  /// The time for which a broker that refuses us may be the only one that answers, in milliseconds.
  private static let refusalMilliseconds: UInt64 = 2_000

  /// A connection and an answer that refuses a producer's id come within this time.
  private static let idMilliseconds: UInt64 = 1_500

  private let admin: KafkaAdmin
  private let configuration: KafkaConfiguration
  private let rights: KafkaRights
  private let names: TopicNames
  private var facts: KafkaFacts

  /// Surveys the cluster, and returns the result as findings, and as facts for further rules.
  public static func run(
    _ configuration: KafkaConfiguration, _ program: KafkaUser, _ names: TopicNames
  ) -> (findings: [Finding], facts: KafkaFacts) {
    let rights = KafkaRights(of: program, names)
    var facts = KafkaFacts(bootstrap: configuration.bootstrap)
    do throws(KafkaError) {
      var survey = try KafkaSurvey(configuration, rights, names)
      defer { survey.admin.close() }
      try survey.run()
      facts = survey.facts
    } catch {
      facts.mechanism = configuration.saslMechanism
      facts.library = .librdkafka
      facts.failure = error.description
      facts.isRefusal = error.isRefusal
      facts.isUnreadable = error.isUnreadable
    }
    return (KafkaFindings(facts, rights, names).all, facts)
  }

  /// The number of members of a program's group now; nil where the cluster does not say.
  public static func members(
    _ configuration: KafkaConfiguration, _ program: ReaderGroup, _ names: TopicNames
  ) -> Int? {
    guard let admin = try? KafkaAdmin(configuration) else { return nil }
    defer { admin.close() }
    return admin.memberCount(of: names.group(program), timeoutMilliseconds: Self.answerMilliseconds)
  }

  private init(
    _ configuration: KafkaConfiguration, _ rights: KafkaRights, _ names: TopicNames
  ) throws(KafkaError) {
    admin = try KafkaAdmin(configuration)
    self.configuration = configuration
    self.rights = rights
    self.names = names
    facts = KafkaFacts(bootstrap: configuration.bootstrap)
    facts.user = configuration.user
    facts.mechanism = configuration.saslMechanism
    facts.library = .librdkafka
  }

  private mutating func run() throws(KafkaError) {
    try awaitAnswer()
    let listing = try admin.topicListing(
      naming: rights.topics, timeoutMilliseconds: Self.answerMilliseconds)
    facts.brokers = try admin.brokerCount(timeoutMilliseconds: Self.answerMilliseconds)
    let existing = rights.topics.filter { listing.sizes[$0] != nil }
    // Without the right to ask nothing is known of them.
    let settings =
      existing.isEmpty
      ? [:]
      : (try? admin.topicSettings(existing, timeoutMilliseconds: Self.answerMilliseconds)) ?? [:]
    let answers = read(rights.readTopics.filter { listing.sizes[$0] != nil })
    for topic in rights.topics {
      facts.topics[topic] = look(topic, listing, settings[topic], read: answers[topic] ?? .unknown)
    }
    if !rights.writtenTopics.isEmpty { facts.producing = produce() }
    if let group = rights.program.group, let topic = existing.first {
      facts.group = use(names.group(group), topic)
    }
  }

  /// Waits for the first answer.
  private func awaitAnswer() throws(KafkaError) {
    let start = MonotonicClock.milliseconds()
    var trouble: KafkaError?
    var refusal: KafkaError?
    while true {
      do throws(KafkaError) {
        try admin.awaitAnswer(timeoutMilliseconds: 250)
        return
      } catch {
        for heard in admin.drainErrors() {
          trouble = heard
          if heard.isRefusal { refusal = heard }
        }
        let waited = MonotonicClock.milliseconds() - start
        if let refusal, waited > Self.refusalMilliseconds { throw refusal }
        guard error.isRetriable, waited < UInt64(Self.answerMilliseconds) else {
          throw refusal ?? trouble ?? error
        }
      }
    }
  }

  // MARK: Topics

  private func look(
    _ name: String, _ listing: TopicListing, _ settings: [String: String]?,
    read: KafkaFacts.Answer
  ) -> KafkaFacts.Topic {
    guard let size = listing.sizes[name] else {
      // Kafka's answer to its name: it is not there, this user may not see it, or something else.
      let error = listing.errors[name]
      let isMissing = error?.isOfMissingPartition ?? true
      return KafkaFacts.Topic(
        state: nil, describe: isMissing ? .allowed : error.map(Self.answer) ?? .allowed)
    }
    let state = TopicState(partitions: size.partitions, copies: size.copies, settings: settings)
    return KafkaFacts.Topic(state: state, describe: .allowed, read: read)
  }

  private func read(_ topics: [String]) -> [String: KafkaFacts.Answer] {
    do throws(KafkaError) {
      let probe = try ReadProbe(configuration)
      defer { probe.close() }
      return probe.ask(topics, timeoutMilliseconds: Self.answerMilliseconds).mapValues {
        switch $0 {
        case .allowed: .allowed
        case .refused: .refused
        case .unanswered(let error): .failed(error?.description ?? "no answer in time")
        }
      }
    } catch {
      return Dictionary(uniqueKeysWithValues: topics.map { ($0, Self.answer(error)) })
    }
  }

  /// Checks that a producer gets an id. It writes nothing. That it gets one is not said by librdkafka: `unknown`.
  private func produce() -> KafkaFacts.Answer {
    guard let producer = try? KafkaProducer(configuration) else { return .unknown }
    defer { producer.close() }
    let deadline = MonotonicClock.milliseconds() + Self.idMilliseconds
    while MonotonicClock.milliseconds() < deadline {
      _ = producer.drainDeliveries()
      if producer.trouble?.error.isOfAuthorization == true { return .refused }
      usleep(20_000)
    }
    return .unknown
  }

  // MARK: The group

  private func use(_ group: String, _ topic: String) -> KafkaFacts.Answer {
    do throws(KafkaError) {
      _ = try admin.groupOffsets(
        group, [TopicPartition(topic: topic, partition: 0)],
        timeoutMilliseconds: Self.answerMilliseconds)
      return .allowed
    } catch {
      return admin.isRefused(group) ? .refused : Self.answer(error)
    }
  }

  private static func answer(_ error: KafkaError) -> KafkaFacts.Answer {
    error.isOfAuthorization ? .refused : .failed(error.description)
  }
}
