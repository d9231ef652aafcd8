// SPDX-License-Identifier: Apache-2.0

/// The facts that a program found out about its Kafka cluster before it runs, and the findings that follow from them.
public struct KafkaFacts: Sendable {
  /// The cluster's answer to a question.
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
    /// The answer to whether the user may see the topic.
    public var describe: Answer
    /// The answer to whether the user may read the topic; `unknown` for one that the program does not read.
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
  /// True if the cluster refused us or cannot be trusted, as opposed to not answering.
  public var isRefusal = false
  /// True if something answers, and not as a broker that librdkafka can read.
  public var isUnreadable = false
  public var brokers = 0
  /// The principal as far as it is known: the SASL user name; nil without one.
  public var user: String?
  public var topics: [String: Topic] = [:]
  public var group: Answer = .unknown
  /// The answer to whether Kafka gives a producer of this user an id: `refused` if it may write to no topic at all; nil
  /// when it was not asked.
  public var producing: Answer = .unknown
  /// The way in which the user logs in with SASL, such as `SCRAM-SHA-512`; nil without SASL.
  public var mechanism: String?
  public var library = LibraryVersion(0, 0, 0)

  public init(bootstrap: String) { self.bootstrap = bootstrap }
}

public struct KafkaFindings {
  private let facts: KafkaFacts
  private let rights: KafkaRights
  private let names: TopicNames

  public init(_ facts: KafkaFacts, _ rights: KafkaRights, _ names: TopicNames) {
    self.facts = facts
    self.rights = rights
    self.names = names
  }

  /// In the order login, cluster, topics, group.
  public var all: [Finding] {
    if let failure = facts.failure { return login + [unreachable(failure)] }
    return login + [cluster] + writing + rights.topics.flatMap(topic) + group
  }

  // MARK: Login

  /// librdkafka before 2.6.1 checks the nonce of a SCRAM login in a way that no broker of Kafka 4 passes
  /// (librdkafka#4895).
  private var login: [Finding] {
    guard let warning = Self.login(facts.mechanism, facts.library) else { return [] }
    return [.warning(.kafka, facts.bootstrap, warning.message, remedy: warning.remedy)]
  }

  /// The fault in a way to log in, and its remedy; nil for nothing.
  public static func login(
    _ mechanism: String?, _ library: LibraryVersion
  ) -> (message: String, remedy: String)? {
    guard let mechanism, mechanism.uppercased().hasPrefix("SCRAM-"),
      library < LibraryVersion(2, 6, 1)
    else { return nil }
    return (
      "librdkafka \(library) cannot log in to Kafka 4 with \(mechanism); 2.6.1 and newer can",
      "install librdkafka 2.6.1 or newer, or log in with PLAIN over TLS or with a client certificate:"
        + " docs/kafka.md#tls-and-sasl"
    )
  }

  private var principal: String { "User:\(facts.user ?? rights.program.rawValue)" }

  private func unreachable(_ failure: String) -> Finding {
    .error(
      .kafka, facts.bootstrap, failure,
      remedy: facts.isRefusal
        ? "correct the credentials or certificates: kafka.security.protocol, kafka.sasl.*, kafka.ssl.*"
        : facts.isUnreadable
          ? "something answers there that is no Kafka broker, or TLS is on one side only: check the port, and"
            + " kafka.security.protocol"
          : "check that the brokers run, that kafka names them and that no firewall is between;"
            + " with TLS or SASL set kafka.security.protocol")
  }

  private var cluster: Finding {
    guard facts.brokers > 2 else {
      return .warning(
        .kafka, facts.bootstrap,
        "the cluster has \(facts.brokers) broker\(facts.brokers == 1 ? "" : "s")",
        remedy:
          "use three brokers or more, so that one may be away and no acknowledged record is lost")
    }
    return .ok(.kafka, facts.bootstrap, "\(facts.brokers) brokers")
  }

  // MARK: Writing

  /// Kafka has no question for the right to write. Only one that is missing on every topic shows: then a producer gets
  /// no id.
  private var writing: [Finding] {
    let topics = rights.writtenTopics
    guard !topics.isEmpty else { return [] }
    guard facts.producing == .refused else {
      return [
        .ok(
          .kafka, facts.bootstrap,
          "the right to write cannot be asked for: one that is missing is logged with the first record"
        )
      ]
    }
    return topics.filter { facts.topics[$0]?.describe == .allowed }.map {
      refused(.topic, $0, .topic($0), "write to")
    }
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
        .error(.topic, name, "does not exist", remedy: "martlet topics create creates it")
      ]
    }
    let findings = differences(name, state) + copies(name, state) + reading(name, topic.read)
    guard findings.isEmpty else { return findings }
    let count = "\(state.partitions) partition\(state.partitions == 1 ? "" : "s")"
    let note =
      state.settings == nil
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
    guard let wanted = names.all.first(where: { $0.name == name }) else { return [] }
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
    guard facts.brokers > 1, state.copies == 1 else { return [] }
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
    .error(
      subject, place, "this user may not \(verb) it\(needs(resource, verb))",
      remedy: rights.command(for: resource, user: principal))
  }

  /// The right by its name.
  private func needs(_ resource: KafkaRight.Resource, _ verb: String) -> String {
    let operations = rights.operations(on: resource).filter { operation in
      switch verb {
      case "read": operation == .read
      case "write to": operation == .write
      default: operation != .describeConfigs
      }
    }
    return ": needs \(operations.map(\.rawValue).joined(separator: " and ")) on \(resource.words)"
  }
}
