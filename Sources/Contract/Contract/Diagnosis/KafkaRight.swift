// SPDX-License-Identifier: Apache-2.0

/// The operations that a user of Kafka may perform on a topic or a consumer group.
public struct KafkaRight: Sendable, Equatable {
  public enum Resource: Sendable, Hashable {
    case topic(String)
    case group(String)
  }

  /// Kafka's operations of an access control entry. `Read` and `Write` include `Describe`.
  public enum Operation: String, Sendable {
    case describe = "Describe"
    case read = "Read"
    case write = "Write"
    case describeConfigs = "DescribeConfigs"
  }

  public let resource: Resource
  /// Without repetition, in the order of the enumeration.
  public let operations: [Operation]

  public init(_ resource: Resource, _ operations: [Operation]) {
    self.resource = resource
    self.operations = operations
  }
}

/// A program with rights of its own: the members of each consumer group, and those that are in none.
public enum KafkaUser: String, Sendable, CaseIterable {
  case ingest = "martlet-ingest"
  case sender = "martlet-sender"
  case feedback = "martlet-feedback"
  case signer = "martlet-signer"
  case api = "martlet-api"
  case webhooks = "martlet-webhooks"
  case scheduler = "martlet-scheduler"
  case canary = "martlet-canary"

  /// The consumer group that it reads in; nil for none.
  public var group: ReaderGroup? { ReaderGroup(rawValue: rawValue) }

  /// True if `group` is only the prefix of its groups' names: `martlet-webhooks` has one for each endpoint.
  public var hasGroups: Bool { self == .webhooks }
}

/// The least rights with which each program works: one table for `--check`, `martlet doctor` and docs/kafka.md.
///
/// `DescribeConfigs` only lets a program compare a topic's settings with the table; it works without.
public struct KafkaRights: Sendable {
  public let program: KafkaUser
  /// Topics in the order of the pipeline's table, then the group if there is one.
  public let all: [KafkaRight]

  /// - Parameters:
  ///   - reading: further topics that this process reads by its settings.
  ///   - isUsed: leaves out topics that this process does not use by its settings.
  public init(
    of program: KafkaUser, _ names: TopicNames, reading: [String] = [],
    where isUsed: (String) -> Bool = { _ in true }
  ) {
    self.program = program
    var (read, written) = Self.topics(of: program, names)
    read.formUnion(reading)
    let topics = names.all.map(\.name).filter(isUsed).compactMap { topic -> KafkaRight? in
      var operations: [KafkaRight.Operation] = []
      if read.contains(topic) { operations.append(.read) }
      if written.contains(topic) { operations.append(.write) }
      guard !operations.isEmpty else { return nil }
      return KafkaRight(.topic(topic), operations + [.describeConfigs])
    }
    let group = program.group.map { KafkaRight(.group(names.group($0)), [.read]) }
    all = topics + (group.map { [$0] } ?? [])
  }

  /// The topics that a program reads and those that it writes.
  private static func topics(
    of program: KafkaUser, _ names: TopicNames
  ) -> (read: Set<String>, written: Set<String>) {
    let (lanes, retries) = (names.notifications, names.retries)
    switch program {
    case .ingest:
      return (
        [names.requests, names.campaignRequests, names.invalidTokens],
        Set(lanes + [names.receipts, names.deadLetters, names.schedule])
      )
    case .sender:
      return (
        Set(lanes + retries + [names.providerTokens, names.controls, names.invalidTokens]),
        Set(
          lanes + retries
            + [names.receipts, names.feedback, names.tokenRequests, names.deadLetters])
      )
    case .feedback:
      return (
        [names.feedback, names.devices, names.invalidTokens],
        [names.invalidTokens, names.deadLetters]
      )
    case .signer:
      return ([names.tokenRequests, names.providerTokens], [names.providerTokens])
    case .api:
      return ([names.controls], [names.requests, names.devices, names.schedule, names.controls])
    case .webhooks:
      return ([names.receipts, names.devices, names.invalidTokens], [names.deadLetters])
    case .scheduler:
      return (
        [names.schedule, names.receipts, names.controls, names.audiences],
        [
          names.schedule, names.requests, names.campaignRequests, names.deadLetters, names.controls,
        ]
      )
    case .canary: return ([names.receipts], [names.requests])
    }
  }

  /// The topics of the program, in the order of the table.
  public var topics: [String] { topics { _ in true } }

  public var readTopics: [String] { topics { $0.contains(.read) } }

  public var writtenTopics: [String] { topics { $0.contains(.write) } }

  /// The operations that the table grants on one topic or group: nothing where it does not name it.
  public func operations(on resource: KafkaRight.Resource) -> [KafkaRight.Operation] {
    all.first { $0.resource == resource }?.operations ?? []
  }

  private func topics(_ isWanted: ([KafkaRight.Operation]) -> Bool) -> [String] {
    all.compactMap { right in
      guard case .topic(let name) = right.resource, isWanted(right.operations) else { return nil }
      return name
    }
  }

  /// The commands that grant the rights: one command of Kafka's for each set of operations.
  ///
  /// - Parameter user: the principal, such as `User:martlet-ingest`.
  public func commands(user: String) -> [String] {
    var sets: [[KafkaRight.Operation]] = []
    for right in all where !sets.contains(right.operations) { sets.append(right.operations) }
    return sets.flatMap { operations -> [String] in
      let rights = all.filter { $0.operations == operations }
      let topics = rights.compactMap {
        if case .topic(let name) = $0.resource { name } else { nil }
      }
      let groups = rights.compactMap {
        if case .group(let name) = $0.resource { name } else { nil }
      }
      return [("--topic", topics), ("--group", groups)].filter { !$0.1.isEmpty }.map {
        command(user, operations, $0.0, $0.1)
      }
    }
  }

  /// The command that grants the rights to one topic or group.
  public func command(for resource: KafkaRight.Resource, user: String) -> String {
    let known = operations(on: resource)
    let operations = known.isEmpty ? [.read] : known
    switch resource {
    case .topic(let name): return command(user, operations, "--topic", [name])
    case .group(let name): return command(user, operations, "--group", [name])
    }
  }

  private func command(
    _ user: String, _ operations: [KafkaRight.Operation], _ flag: String, _ names: [String]
  ) -> String {
    let words =
      ["kafka-acls.sh", "--add", "--allow-principal", user]
      + operations.flatMap { ["--operation", $0.rawValue] }
      + names.flatMap { [flag, $0] }
      + (flag == "--group" && program.hasGroups ? ["--resource-pattern-type", "prefixed"] : [])
    return words.joined(separator: " ")
  }
}
