// SPDX-License-Identifier: Apache-2.0
public import Diagnosis
import EventLoop
import Glibc
public import Kafka
public import Pipeline

/// Asks a cluster what a program needs to know before it runs: brokers, topics with their settings, and whether this
/// user may see and read them and use the group. Changes nothing, commits nothing and joins no group, so the right to
/// write cannot be asked for.
public struct KafkaSurvey {
  /// Until a broker must have answered; of each further question.
  private static let answerMilliseconds: Int32 = 5_000
  /// How long a broker that refuses us may be the only one that answers.
  private static let refusalMilliseconds: UInt64 = 2_000

  private let admin: KafkaAdmin
  private let configuration: KafkaConfiguration
  private let rights: KafkaRights
  private let names: TopicNames
  private var facts: KafkaFacts

  /// What the cluster says, as findings, and as facts for further rules.
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
      facts.failure = error.description
      facts.isRefusal = error.isRefusal
    }
    return (KafkaFindings(facts, rights, names).all, facts)
  }

  /// How many members a program's group has now; nil where the cluster does not say.
  public static func members(
    _ configuration: KafkaConfiguration, _ program: ReaderGroup, _ names: TopicNames
  ) -> Int? {
    guard let admin = try? KafkaAdmin(configuration) else { return nil }
    defer { admin.close() }
    return admin.memberCount(
      of: names.group(program), timeoutMilliseconds: Self.answerMilliseconds)
  }

  private init(
    _ configuration: KafkaConfiguration, _ rights: KafkaRights, _ names: TopicNames
  ) throws(KafkaError) {
    admin = try KafkaAdmin(configuration)
    self.configuration = configuration
    self.rights = rights
    self.names = names
    facts = KafkaFacts(bootstrap: configuration.bootstrap)
    let properties = configuration.common + configuration.consumer
    facts.user = properties.last { $0.name == "sasl.username" }?.value
  }

  private mutating func run() throws(KafkaError) {
    facts.isEmbedded = try identify()
    facts.brokers = try admin.brokerCount(timeoutMilliseconds: Self.answerMilliseconds)
    let listing = try admin.topicListing(timeoutMilliseconds: Self.answerMilliseconds)
    let existing = rights.topics.filter { listing.sizes[$0] != nil }
    // Without the right to ask nothing is known of them.
    let settings =
      facts.isEmbedded || existing.isEmpty
      ? [:]
      : (try? admin.topicSettings(existing, timeoutMilliseconds: Self.answerMilliseconds)) ?? [:]
    for topic in rights.topics {
      facts.topics[topic] = look(topic, listing, settings[topic])
    }
    if let group = rights.program.group, let topic = existing.first {
      facts.group = use(names.group(group), topic)
    }
  }

  /// Whether it is an embedded broker; waits for the first answer.
  private func identify() throws(KafkaError) -> Bool {
    let start = MonotonicClock.milliseconds()
    var trouble: KafkaError?
    var refusal: KafkaError?
    while true {
      do throws(KafkaError) {
        return try admin.isEmbeddedBroker(timeoutMilliseconds: 250)
      } catch {
        for heard in admin.takeErrors() {
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
    _ name: String, _ listing: TopicListing, _ settings: [String: String]?
  ) -> KafkaFacts.Topic {
    guard let size = listing.sizes[name] else {
      return KafkaFacts.Topic(state: nil, describe: describe(name, listing))
    }
    let state = TopicState(partitions: size.partitions, copies: size.copies, settings: settings)
    let isRead = rights.readTopics.contains(name)
    return KafkaFacts.Topic(
      state: state, describe: .allowed, read: isRead ? read(name) : .unknown)
  }

  /// Why the list of topics does not have it. A cluster leaves out what the user may not see, and says so only when it
  /// is asked for the topic by its name; the embedded broker would create it.
  private func describe(_ name: String, _ listing: TopicListing) -> KafkaFacts.Answer {
    if let error = listing.errors[name] { return Self.answer(error) }
    guard !facts.isEmbedded,
      let error = admin.topicError(name, timeoutMilliseconds: Self.answerMilliseconds),
      error.isOfAuthorization
    else { return .allowed }
    return .refused
  }

  /// Reads from the topic's end: its end, a record or a refusal tells.
  private func read(_ name: String) -> KafkaFacts.Answer {
    var adapted = configuration
    adapted.isEmbeddedBroker = facts.isEmbedded
    do throws(KafkaError) {
      let tail = try KafkaTail(
        adapted, topic: name, from: .end, timeoutMilliseconds: Self.answerMilliseconds)
      defer { tail.close() }
      var batch = KafkaBatch(capacity: 16)
      defer { batch.release() }
      let deadline = MonotonicClock.milliseconds() + UInt64(Self.answerMilliseconds)
      while MonotonicClock.milliseconds() < deadline {
        let count = tail.poll(into: &batch, upTo: 1, timeoutMilliseconds: 100)
        if let error = tail.lastError, error.isOfAuthorization { return .refused }
        if count > 0 || tail.isCaughtUp { return .allowed }
      }
      return .failed(tail.lastError?.description ?? "no answer in time")
    } catch {
      return Self.answer(error)
    }
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
