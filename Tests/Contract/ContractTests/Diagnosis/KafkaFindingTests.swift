// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Kafka before a program runs.
@Suite struct KafkaFindingTests {
  private let names = TopicNames()

  /// A cluster on which everything is right.
  private func facts(
    _ program: KafkaUser, _ change: (inout KafkaFacts) -> Void = { _ in }
  ) -> KafkaFacts {
    var facts = KafkaFacts(bootstrap: "kafka:9092")
    facts.brokers = 3
    facts.group = .allowed
    for topic in names.all {
      var settings = Dictionary(uniqueKeysWithValues: topic.settings.map { ($0.name, $0.value) })
      settings["min.insync.replicas"] = "2"
      facts.topics[topic.name] = .init(
        state: TopicState(partitions: Int(topic.partitions), copies: 3, settings: settings),
        describe: .allowed, read: .allowed)
    }
    change(&facts)
    return facts
  }

  private func findings(
    _ program: KafkaUser, _ change: (inout KafkaFacts) -> Void = { _ in }
  ) -> [Finding] {
    KafkaFindings(facts(program, change), KafkaRights(of: program, names), names).all
  }

  private func troubles(_ program: KafkaUser, _ change: (inout KafkaFacts) -> Void) -> [Finding] {
    findings(program, change).filter { $0.status != .ok }
  }

  @Test(arguments: KafkaUser.allCases)
  func `a right cluster: the cluster, its limits, each topic of the program and its group`(
    program: KafkaUser
  ) {
    let found = findings(program)
    #expect(found.allSatisfy { $0.status == .ok })
    #expect(found.count == 2 + KafkaRights(of: program, names).all.count)
  }

  @Test func `no answer and a refusal have different remedies, and no other finding`() {
    let silent = findings(.sender) { $0.failure = "no broker answers" }
    #expect(silent.map(\.status) == [.error])
    #expect(silent[0].remedy.contains("firewall"))
    let refused = findings(.sender) {
      $0.failure = "SASL authentication failed"
      $0.isRefusal = true
    }
    #expect(refused[0].remedy.contains("kafka.sasl."))
  }

  @Test func `fewer than three brokers are a warning`() {
    #expect(troubles(.signer) { $0.brokers = 2 }.map(\.message) == ["the cluster has 2 brokers"])
    #expect(troubles(.signer) { $0.brokers = 1 }.map(\.message) == ["the cluster has 1 broker"])
  }

  @Test func `a missing topic: created, or let be seen`() {
    let found = troubles(.ingest) { $0.topics["push.requests"]?.state = nil }
    #expect(found.map(\.place) == ["push.requests"])
    #expect(found[0].status == .error)
    #expect(found[0].remedy == "martlet topics create creates it")
  }

  @Test
  func `a right is named: what the program needs of a topic that it may not see, read or write`() {
    let found = troubles(.sender) {
      $0.topics["push.retries.5s"]?.describe = .refused
      $0.topics["push.controls"]?.read = .refused
    }
    #expect(
      found.map(\.message) == [
        "this user may not see it: needs Read and Write on topic push.retries.5s",
        "this user may not read it: needs Read on topic push.controls",
      ])
    let unwritten = troubles(.webhooks) { $0.producing = .refused }
    #expect(
      unwritten.map(\.message) == [
        "this user may not write to it: needs Write on topic push.dead-letters"
      ])
    #expect(unwritten.first?.remedy.contains("--operation Write") == true)
  }

  @Test(arguments: [
    ("SCRAM-SHA-512", LibraryVersion(2, 0, 2), true),
    ("scram-sha-256", LibraryVersion(2, 6, 0), true),
    ("SCRAM-SHA-512", LibraryVersion(2, 6, 1), false),
    ("SCRAM-SHA-256", LibraryVersion(2, 8, 0), false),
    ("SCRAM-SHA-256", LibraryVersion(3, 0, 0), false), ("PLAIN", LibraryVersion(2, 0, 2), false),
    (nil, LibraryVersion(2, 0, 2), false),
  ])
  func `SCRAM needs a librdkafka that can log in to Kafka 4`(
    mechanism: String?, library: LibraryVersion, isWarned: Bool
  ) {
    for failure in [nil, "SASL authentication failed"] {
      let warnings = troubles(.signer) {
        $0.mechanism = mechanism
        $0.library = library
        $0.failure = failure
      }.filter { $0.status == .warning }
      #expect(warnings.count == (isWarned ? 1 : 0))
      if isWarned {
        #expect(warnings[0].message.contains("librdkafka \(library)"))
        #expect(warnings[0].remedy.contains("PLAIN"))
      }
    }
  }

  @Test func `an authorizer that refuses is named with the ACL to grant, to the user that asked`() {
    let found = troubles(.sender) {
      $0.user = "push"
      $0.topics["push.receipts"]?.describe = .refused
      $0.topics["push.retries.1m"]?.read = .refused
      $0.group = .refused
    }
    #expect(found.map(\.place) == ["push.retries.1m", "push.receipts", "martlet-sender"])
    #expect(found.allSatisfy { $0.status == .error })
    #expect(
      found.map(\.remedy) == [
        "kafka-acls.sh --add --allow-principal User:push --operation Read --operation Write"
          + " --operation DescribeConfigs --topic push.retries.1m",
        "kafka-acls.sh --add --allow-principal User:push --operation Write --operation DescribeConfigs"
          + " --topic push.receipts",
        "kafka-acls.sh --add --allow-principal User:push --operation Read --group martlet-sender",
      ])
  }

  @Test func `other answers are errors with their words`() {
    let found = troubles(.sender) {
      $0.topics["push.feedback"]?.describe = .failed("leader not available")
      $0.topics["push.notifications"]?.read = .failed("not leader")
      $0.group = .failed("coordinator not available")
    }
    #expect(
      found.map(\.message) == [
        "cannot be read: not leader", "leader not available", "coordinator not available",
      ])
    #expect(found.allSatisfy { $0.status == .error && !$0.remedy.isEmpty })
  }

  @Test
  func `a wrong cleanup policy is an error, a short retention a warning, a larger count none`() {
    let found = troubles(.feedback) {
      $0.topics["push.devices"]?.state?.settings?["cleanup.policy"] = "delete"
      $0.topics["push.feedback"]?.state?.settings?["retention.ms"] = "1000"
      $0.topics["push.invalid-tokens"]?.state?.partitions = 99
    }
    #expect(found.map(\.place) == ["push.feedback", "push.devices"])
    #expect(found.map(\.status) == [.warning, .error])
    #expect(found[1].remedy.contains("--add-config cleanup.policy=compact"))
    let two = troubles(.signer) { $0.topics["push.token-requests"]?.state?.partitions = 2 }
    #expect(two.map(\.status) == [.error])
  }

  @Test func `one copy on a cluster of several brokers; settings that may not be read`() {
    let found = troubles(.signer) { facts in
      for name in facts.topics.keys {
        facts.topics[name]?.state?.copies = 1
        facts.topics[name]?.state?.settings?["min.insync.replicas"] = "1"
      }
    }
    #expect(found.count == 2 && found.allSatisfy { $0.message.contains("one copy") })
    let blind = findings(.signer) { $0.topics["push.provider-tokens"]?.state?.settings = nil }
    #expect(blind.allSatisfy { $0.status == .ok })
    #expect(blind.contains { $0.message.contains("DescribeConfigs") })
  }

  @Test func `another prefix changes topics and group`() {
    let names = TopicNames(prefix: "a.")
    let rights = KafkaRights(of: .signer, names)
    #expect(rights.topics == ["a.provider-tokens", "a.token-requests"])
    #expect(rights.all.last?.resource == .group("a.martlet-signer"))
  }
}

/// Rights of each program.
@Suite struct KafkaRightTests {
  private let names = TopicNames()

  @Test(arguments: KafkaUser.allCases)
  func `the commands grant exactly the table`(program: KafkaUser) {
    let rights = KafkaRights(of: program, names)
    var granted: [String: Set<String>] = [:]
    for command in rights.commands(user: "User:x") {
      let words = command.split(separator: " ").map(String.init)
      #expect(words.prefix(4) == ["kafka-acls.sh", "--add", "--allow-principal", "User:x"])
      func values(_ flag: String) -> [String] {
        words.indices.filter { words[$0] == flag }.map { words[$0 + 1] }
      }
      for name in values("--topic") + values("--group") {
        granted[name, default: []].formUnion(values("--operation"))
      }
    }
    var wanted: [String: Set<String>] = [:]
    for right in rights.all {
      switch right.resource {
      case .topic(let name), .group(let name):
        wanted[name] = Set(right.operations.map(\.rawValue))
      }
    }
    #expect(granted == wanted)
    // One process, many groups: their names begin alike.
    let prefixed = rights.commands(user: "User:x").filter {
      $0.hasSuffix(" --resource-pattern-type prefixed")
    }
    #expect(prefixed.count == (program == .webhooks ? 1 : 0))
  }

  @Test
  func
    `no other program may write what only one program writes, and only signer and sender see provider tokens`()
  {
    func operations(_ program: KafkaUser, _ topic: String) -> [KafkaRight.Operation] {
      KafkaRights(of: program, names).all.first { $0.resource == .topic(topic) }?.operations ?? []
    }
    for program in KafkaUser.allCases {
      #expect(operations(program, "push.provider-tokens").contains(.write) == (program == .signer))
      #expect(
        operations(program, "push.provider-tokens").contains(.read)
          == (program == .signer || program == .sender))
      #expect(
        operations(program, "push.notifications").contains(.write)
          == (program == .ingest || program == .sender))
      #expect(operations(program, "push.invalid-tokens").contains(.write) == (program == .feedback))
      #expect(
        operations(program, "push.requests").contains(.write)
          == (program == .api || program == .canary || program == .scheduler))
      #expect(operations(program, "push.devices").contains(.write) == (program == .api))
    }
  }

  @Test func `the topics that a group reads by the pipeline's table are among those it may read`() {
    for topic in names.all {
      guard let group = topic.readerGroup, let program = KafkaUser(rawValue: group) else {
        continue
      }
      #expect(KafkaRights(of: program, names).readTopics.contains(topic.name), "\(topic.name)")
    }
  }
}

/// Partitions for every loop.
@Suite struct LoopCoverageTests {
  @Test func `members differ by one partition at most, so few partitions tell of many senders`() {
    // Every member of every group size: never more senders than there are.
    for partitions in 0...60 {
      for members in 1...12 {
        for assigned in Set([partitions / members, (partitions + members - 1) / members]) {
          let coverage = LoopCoverage(loops: 1, assigned: assigned, of: partitions)
          #expect(coverage.senders <= max(members, 1))
          if partitions % members == 0, partitions >= members * members {
            #expect(coverage.senders == members, "\(partitions) \(members)")
          }
        }
      }
    }
    #expect(LoopCoverage(loops: 2, assigned: 36, of: 36).senders == 1)
    #expect(LoopCoverage(loops: 2, assigned: 18, of: 36).senders == 2)
  }

  @Test
  func `as many partitions as loops suffice; fewer are a warning that says how many are needed`() {
    let coverage = LoopCoverage(loops: 8, senders: 2)
    #expect(coverage.finding(topic: "push.notifications", partitions: 16).status == .ok)
    let found = coverage.finding(topic: "push.notifications", partitions: 12)
    #expect(found.status == .warning)
    #expect(
      found.message == "12 partitions; 2 senders have 16 loops, so 4 of them send nothing of it")
    #expect(found.remedy.contains("--topic push.notifications --partitions 16"))
    #expect(
      LoopCoverage(loops: 1, senders: 0).finding(topic: "t", partitions: 1).message
        == "1 partitions; one sender has 1 loop")
  }
}
