// SPDX-License-Identifier: Apache-2.0
public import Pipeline

/// What a program found out about its Kafka cluster before it runs, and what follows from it.
public struct KafkaFacts: Sendable {
  /// What became of a question to the cluster.
  public enum Answer: Sendable, Equatable {
    case allowed
    /// The cluster's authorizer says no.
    case refused
    /// Anything else that went wrong, in words.
    case failed(String)
    /// Not asked: reading needs the topic first.
    case unknown
  }

  public struct Topic: Sendable, Equatable {
    /// nil if it does not exist.
    public var state: TopicState?
    /// Whether the user may see it.
    public var describe: Answer
    /// Whether the user may read it; `unknown` for one that the program does not read.
    public var read: Answer

    public init(state: TopicState?, describe: Answer, read: Answer = .unknown) {
      self.state = state
      self.describe = describe
      self.read = read
    }
  }

  /// The addresses given.
  public var bootstrap: String
  /// nil when a broker answers; else why none does.
  public var failure: String?
  /// Whether it refused us or cannot be trusted, as opposed to not answering.
  public var isRefusal = false
  /// librdkafka's broker in memory, which has no settings and no authorizer.
  public var isEmbedded = false
  public var brokers = 0
  /// The principal as far as it is known: the SASL user name; nil without one.
  public var user: String?
  public var topics: [String: Topic] = [:]
  public var group: Answer = .unknown

  public init(bootstrap: String) { self.bootstrap = bootstrap }
}

/// The rules.
public struct KafkaFindings {
  private let facts: KafkaFacts
  private let rights: KafkaRights
  private let names: TopicNames

  public init(_ facts: KafkaFacts, _ rights: KafkaRights, _ names: TopicNames) {
    self.facts = facts
    self.rights = rights
    self.names = names
  }

  /// In the order cluster, topics, group.
  public var all: [Finding] {
    if let failure = facts.failure { return [unreachable(failure)] }
    return [cluster] + rights.topics.flatMap(topic) + group
  }

  private var principal: String { "User:\(facts.user ?? rights.program.rawValue)" }

  private func unreachable(_ failure: String) -> Finding {
    .error(
      .kafka, facts.bootstrap, failure,
      remedy: facts.isRefusal
        ? "correct the credentials or certificates: kafka.security.protocol, kafka.sasl.*, kafka.ssl.*"
        : "check that the brokers run, that kafka names them and that no firewall is between;"
          + " with TLS or SASL set kafka.security.protocol")
  }

  private var cluster: Finding {
    if facts.isEmbedded {
      return .warning(
        .kafka, facts.bootstrap,
        "this is an embedded broker (martlet broker): it keeps records in memory only",
        remedy: "use a Kafka cluster in production")
    }
    guard facts.brokers > 2 else {
      return .warning(
        .kafka, facts.bootstrap,
        "the cluster has \(facts.brokers) broker\(facts.brokers == 1 ? "" : "s")",
        remedy:
          "use three brokers or more, so that one may be away and no acknowledged record is lost")
    }
    return .ok(.kafka, facts.bootstrap, "\(facts.brokers) brokers")
  }

  // MARK: Topics

  private func topic(_ name: String) -> [Finding] {
    guard let topic = facts.topics[name] else { return [] }
    switch topic.describe {
    case .refused: return [refused(.topic, name, .topic(name), "see")]
    case .failed(let words):
      return [.error(.topic, name, words, remedy: "check the brokers' logs")]
    case .allowed, .unknown: break
    }
    guard let state = topic.state else {
      return [
        .error(
          .topic, name, "does not exist, or this user may not see it",
          remedy: "martlet topics create creates it; else \(grant(.topic(name)))")
      ]
    }
    let findings = differences(name, state) + copies(name, state) + reading(name, topic.read)
    guard findings.isEmpty else { return findings }
    let count = "\(state.partitions) partition\(state.partitions == 1 ? "" : "s")"
    let note =
      state.settings == nil && !facts.isEmbedded
      ? "; its settings may not be read (DescribeConfigs) and were not compared" : ""
    return [.ok(.topic, name, count + note)]
  }

  private func reading(_ name: String, _ answer: KafkaFacts.Answer) -> [Finding] {
    switch answer {
    case .allowed, .unknown: []
    case .refused: [refused(.topic, name, .topic(name), "read")]
    case .failed(let words):
      [.error(.topic, name, "cannot be read: \(words)", remedy: "check the brokers' logs")]
    }
  }

  private func differences(_ name: String, _ state: TopicState) -> [Finding] {
    guard !facts.isEmbedded, let wanted = names.all.first(where: { $0.name == name }) else {
      return []
    }
    return names.differences(of: [wanted], from: [name: state]).filter(\.isHarmful).map {
      let (property, isFatal) =
        switch $0.property {
        case .partitions: ("partitions", true)
        case .setting(let setting): (setting, setting == "cleanup.policy")
        }
      return Finding(
        isFatal ? .error : .warning, .topic, name,
        "\(property) is \($0.actual), not \($0.wanted): \($0.consequence)", remedy: $0.remedy)
    }
  }

  private func copies(_ name: String, _ state: TopicState) -> [Finding] {
    guard !facts.isEmbedded, facts.brokers > 1, state.copies == 1 else { return [] }
    return [
      .warning(
        .topic, name, "has one copy of each partition: a lost disk loses its records",
        remedy: "raise the replication factor to three: kafka-reassign-partitions.sh")
    ]
  }

  // MARK: Rights

  private var group: [Finding] {
    guard let program = rights.program.group else { return [] }
    let name = names.group(program)
    switch facts.group {
    case .unknown: return []
    case .allowed: return [.ok(.group, name, "may be used")]
    case .refused: return [refused(.group, name, .group(name), "use")]
    case .failed(let words):
      return [
        .error(
          .group, name, words, remedy: "check that the group coordinator's broker runs and its log")
      ]
    }
  }

  private func refused(
    _ subject: Finding.Subject, _ place: String, _ resource: KafkaRight.Resource, _ verb: String
  ) -> Finding {
    .error(subject, place, "this user may not \(verb) it", remedy: grant(resource))
  }

  private func grant(_ resource: KafkaRight.Resource) -> String {
    rights.command(for: resource, user: principal)
  }
}
