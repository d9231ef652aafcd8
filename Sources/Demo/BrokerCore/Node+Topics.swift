// SPDX-License-Identifier: Apache-2.0

/// Topics and the cluster: Metadata, CreateTopics, configurations and the rest.
extension Node {
  func describeCluster(tellsRights: Bool, _ caller: Caller) -> Value {
    let known: [Value] = brokers.map { broker in
      ["NodeId": .number(broker.id), "Host": .text(broker.host), "Port": .number(broker.port)]
    }
    let cluster: Value = [
      "ClusterId": .text(clusterID), "Controller": .number(brokers[0].id), "Brokers": .list(known),
    ]
    return tellsRights ? cluster.with("Rights", rights(caller, .cluster)) : cluster
  }

  // MARK: Metadata

  mutating func metadata(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    let answer = known(request, version, caller)
    // As in Kafka, the topic is not in this response yet: the client asks again.
    if options.createsTopics, request["MayCreate"].isTrue {
      for topic in request["Topics"].list {
        createMissing(topic["Name"].text, caller, storage)
      }
    }
    return answer
  }

  private func known(_ request: Value, _ version: Int16, _ caller: Caller) -> Value {
    let asked = request["Topics"]
    let tellsRights = request["TopicRights"].isTrue
    func told(_ topic: Topic) -> Value {
      let answer = described(topic)
      return tellsRights ? answer.with("Rights", rights(caller, .topic(topic.name))) : answer
    }
    let wantsAll = asked.isNull || (version == 0 && asked.list.isEmpty)
    let found: [Value]
    if wantsAll {
      found = topics.values.filter { may(caller, .describe, .topic($0.name)) }
        .sorted { $0.name < $1.name }.map { told($0) }
    } else {
      found = asked.list.map { topic in
        // Apache's Java client sends an empty name, not null, when it asks by id.
        let isByID = topic["Id"].bytes.contains { $0 != 0 }
        if !isByID, let name = topic["Name"].optionalText {
          guard may(caller, .describe, .topic(name)) else { return hidden(topic) }
          return topics[name].map { told($0) } ?? unknown(name)
        }
        if let name = namesByID[Array(topic["Id"].bytes)], let known = topics[name] {
          let isVisible = may(caller, .describe, .topic(name))
          return isVisible ? told(known) : hidden(topic.with("Name", .null))
        }
        return [
          "Error": .number(ErrorCode.unknownTopicID.rawValue), "Id": topic["Id"], "Name": .null,
        ]
      }
    }
    return describeCluster(tellsRights: request["ClusterRights"].isTrue, caller)
      .with("Topics", .list(found))
  }

  /// Creates a missing topic if the caller may; otherwise the response reports it as missing.
  private mutating func createMissing(
    _ name: String, _ caller: Caller, _ storage: any LogStorage
  ) {
    guard topics[name] == nil, Self.isValid(name), hasRoom(for: options.partitions),
      may(caller, .create, .cluster) || may(caller, .create, .topic(name))
    else { return }
    do {
      try create(name, partitions: options.partitions, TopicSettings(), storage)
    } catch {
      storageProblem = error.reason
    }
  }

  private func hidden(_ asked: Value) -> Value {
    asked.with("Error", .number(ErrorCode.topicNotAuthorized.rawValue))
  }

  private func unknown(_ name: String) -> Value {
    let error = Self.isValid(name) ? ErrorCode.unknownTopicOrPartition : .invalidTopic
    return ["Error": .number(error.rawValue), "Name": .text(name)]
  }

  private func described(_ topic: Topic) -> Value {
    if let fault = topic.fault {
      return ["Error": .number(fault.rawValue), "Name": .text(topic.name)]
    }
    let partitions: [Value] = topic.leaders.enumerated().map { index, leader in
      let replica: Value = .list([.number(max(leader, brokers[0].id))])
      // 5: leader not available.
      return [
        "Error": leader < 0 ? 5 : 0, "Index": .number(index), "Leader": .number(leader),
        "LeaderEpoch": .number(topic.logs[index].epoch), "Replicas": replica, "Isr": replica,
      ]
    }
    return [
      "Name": .text(topic.name), "Id": .bytes(topic.id[...]), "Partitions": .list(partitions),
    ]
  }

  // MARK: Topics

  static func isValid(_ name: String) -> Bool {
    let isPlain = name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "._-".utf8.contains(byte)
    }
    return isPlain && (1...249).contains(name.utf8.count) && name != "." && name != ".."
  }

  /// Creates a topic.
  @discardableResult
  public mutating func create(
    _ name: String, partitions: Int32, _ settings: TopicSettings, _ storage: any LogStorage
  ) throws(StorageFull) -> Bool {
    guard topics[name] == nil else { return false }
    var topic = Topic(
      name: name, number: nextTopic, id: newID(), settings: settings, logs: [], leaders: [])
    topic.grow(to: partitions, brokers)
    try storage.note(Journal.topic(topic))
    nextTopic += 1
    topics[name] = topic
    namesByID[topic.id] = name
    return true
  }

  mutating func createTopics(
    _ request: Value, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    var answers: [Value] = []
    let asked = Dictionary(grouping: request["Topics"].list) { $0["Name"].text }
    var repeated: Set<String> = []
    for topic in request["Topics"].list {
      let name = topic["Name"].text
      if asked[name]?.count == 1 {
        answers.append(
          createTopic(topic, isTrial: request["ValidateOnly"].isTrue, caller, storage))
      } else if repeated.insert(name).inserted {
        answers.append([
          "Name": .text(name), "Error": .number(ErrorCode.invalidRequest.rawValue),
          "Message": .text("topic '\(name)' is asked for more than once"),
        ])
      }
    }
    return ["Topics": .list(answers)]
  }

  private func hasRoom(for more: Int32) -> Bool {
    topics.values.reduce(Int(more)) { $0 + $1.logs.count } <= options.mostPartitions
  }

  /// Whether the assignment is valid: one replica, on an existing broker.
  private func isReplica(_ assigned: [Value]) -> Bool {
    assigned.count == 1 && brokers.contains { $0.id == assigned[0].int32 }
  }

  private mutating func createTopic(
    _ asked: Value, isTrial: Bool, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    let name = asked["Name"].text
    func refuse(_ error: ErrorCode, _ message: String) -> Value {
      ["Name": .text(name), "Error": .number(error.rawValue), "Message": .text(message)]
    }
    guard Self.isValid(name) else { return refuse(.invalidTopic, "invalid topic name") }
    guard topics[name] == nil else { return refuse(.topicExists, "topic '\(name)' already exists") }
    let assignments = asked["Assignments"].list
    let assigned = assignments.count
    let wanted = asked["Partitions"].int32
    let count = assigned > 0 ? Int32(assigned) : wanted == -1 ? options.partitions : wanted
    guard (1...10_000).contains(count) else {
      return refuse(.invalidPartitions, "number of partitions must be 1 to 10000")
    }
    let isWhole = Set(assignments.map { $0["Index"].int }) == Set(0..<Int64(assigned))
    guard isWhole, assignments.allSatisfy({ isReplica($0["Brokers"].list) }) else {
      return refuse(
        .invalidReplicaAssignment,
        "partitions must be numbered from 0, each with one broker of this cluster")
    }
    guard assigned > 0 || [-1, 1].contains(asked["Replication"].int) else {
      return refuse(
        .invalidReplicationFactor, "replication factor must be 1: this is a single node")
    }
    guard hasRoom(for: count) else {
      return refuse(
        .policyViolation, "this broker has \(options.mostPartitions) partitions at most")
    }
    var settings = TopicSettings()
    for entry in asked["Configs"].list {
      if let problem = settings.set(entry["Name"].text, entry["Value"].optionalText) {
        return refuse(.invalidConfig, problem)
      }
    }
    if !isTrial {
      do {
        try create(name, partitions: count, settings, storage)
      } catch {
        return refuse(.storageError, error.reason)
      }
    }
    let created: Value = ["Name": .text(name), "Id": .bytes((topics[name]?.id ?? [])[...])]
    guard may(caller, .describeConfigs, .topic(name)) else {
      return created.with("ConfigError", .number(ErrorCode.topicNotAuthorized.rawValue))
    }
    let configs = TopicSettings.entries.map { described($0, settings) }
    return [
      "Name": .text(name), "Id": created["Id"], "Count": .number(count),
      "Replication": 1,
      "Configs": .list(configs.map { .fields($0.filter { $0.name != "Kind" }) }),
    ]
  }

  mutating func deleteTopics(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    let asked: [Value] =
      version >= 6
      ? request["Topics"].list
      : request["Names"].list.map { ["Name": $0] }
    var answers: [Value] = []
    for entry in asked {
      let byID = namesByID[Array(entry["Id"].bytes)]
      let name = entry["Name"].optionalText ?? byID
      var error = ErrorCode.none
      if let name, !may(caller, .delete, .topic(name)) {
        error = .topicNotAuthorized
      } else if let name, let topic = topics[name] {
        do { try delete(topic, storage) } catch let full {
          storageProblem = full.reason
          error = .storageError
        }
      } else {
        error = entry["Name"].isNull ? .unknownTopicID : .unknownTopicOrPartition
      }
      // Only callers that may delete the topic learn its name.
      let told = error == .topicNotAuthorized ? entry["Name"].optionalText : name
      answers.append([
        "Name": .optional(told), "Id": entry["Id"], "Error": .number(error.rawValue),
      ])
    }
    return ["Topics": .list(answers)]
  }

  private mutating func delete(_ topic: Topic, _ storage: any LogStorage) throws(StorageFull) {
    try storage.note(Journal.gone(topic: topic.number))
    topics[topic.name] = nil
    namesByID[topic.id] = nil
    finishFetches(of: topic, storage)
    for var log in topic.logs { log.remove(storage) }
    for name in groups.keys {
      let old = groups[name]!.offsets.keys.filter { $0.topic == topic.name }
      for partition in old { groups[name]!.offsets[partition] = nil }
    }
  }

  mutating func createPartitions(_ request: Value, _ storage: any LogStorage) -> Value {
    var answers: [Value] = []
    for asked in request["Results"].list {
      let name = asked["Name"].text
      let count = asked["Count"].int32
      var (error, message): (ErrorCode, String?) = (.none, nil)
      if let topic = topics[name] {
        if count <= topic.logs.count || count > 10_000 {
          error = .invalidPartitions
          message = "topic has \(topic.logs.count) partitions; asked for \(count)"
        } else if !asked["Assignments"].isNull,
          asked["Assignments"].list.count != Int(count) - topic.logs.count
            || !asked["Assignments"].list.allSatisfy({ isReplica($0["Brokers"].list) })
        {
          error = .invalidReplicaAssignment
          message = "each new partition must be assigned, to one broker of this cluster"
        } else if !hasRoom(for: count - Int32(topic.logs.count)) {
          error = .policyViolation
          message = "this broker has \(options.mostPartitions) partitions at most"
        } else if !request["ValidateOnly"].isTrue {
          do {
            try grow(topic, to: count, storage)
          } catch let full {
            (error, message) = (.storageError, full.reason)
          }
        }
      } else {
        (error, message) = (.unknownTopicOrPartition, "no such topic")
      }
      answers.append([
        "Name": .text(name), "Error": .number(error.rawValue), "Message": .optional(message),
      ])
    }
    return ["Results": .list(answers)]
  }

  private mutating func grow(
    _ topic: Topic, to count: Int32, _ storage: any LogStorage
  ) throws(StorageFull) {
    var topic = topic
    topic.grow(to: count, brokers)
    try storage.note(Journal.topic(topic))
    topics[topic.name] = topic
  }

  // MARK: Configurations

  private func described(_ entry: TopicSettings.Entry, _ settings: TopicSettings) -> [Value.Field] {
    let given = settings.given[entry.name]
    // 1: topic configuration, 5: default configuration.
    return [
      .init(name: "Name", value: .text(entry.name)),
      .init(name: "Value", value: .text(given ?? entry.standard)),
      .init(name: "Source", value: given == nil ? 5 : 1),
      .init(name: "Kind", value: .number(entry.kind)),
    ]
  }

  func describeConfigs(_ request: Value) -> Value {
    let results = request["Results"].map { asked in
      let (type, name) = (asked["Type"].int, asked["Name"].text)
      let settings = type == 2 ? topics[name]?.settings : TopicSettings()
      guard let settings, type == 2 || (type == 4 && isBroker(name)) else {
        let error = type == 2 ? ErrorCode.unknownTopicOrPartition : .invalidRequest
        return ["Error": .number(error.rawValue), "Type": asked["Type"], "Name": .text(name)]
      }
      let wanted = asked["Keys"].isNull ? nil : Set(asked["Keys"].list.map(\.text))
      var configs: [Value] = []
      for setting in type == 4 ? ownSettings(name) : []
      where wanted?.contains(setting.name) ?? true {
        // 4: static broker configuration.
        configs.append([
          "Name": .text(setting.name), "Value": .text(setting.value), "IsReadOnly": true,
          "Source": 4, "Kind": .number(setting.kind),
        ])
      }
      for entry in type == 2 ? TopicSettings.entries : [] where wanted?.contains(entry.name) ?? true
      {
        var fields = described(entry, settings)
        let isDefault = settings.given[entry.name] == nil
        fields.append(.init(name: "IsDefault", value: .init(booleanLiteral: isDefault)))
        configs.append(.fields(fields))
      }
      return ["Type": asked["Type"], "Name": .text(name), "Configs": .list(configs)]
    }
    return ["Results": results]
  }

  /// A broker's own configuration, by Kafka's names; cluster-wide defaults are never set.
  private func ownSettings(_ name: String) -> [(name: String, value: String, kind: Int8)] {
    guard let broker = brokers.first(where: { "\($0.id)" == name }) else { return [] }
    let address = "PLAINTEXT://\(broker.host):\(broker.port)"
    var settings: [(name: String, value: String, kind: Int8)] = [
      ("advertised.listeners", address, 2), ("listeners", address, 2),
      ("auto.create.topics.enable", "\(options.createsTopics)", 1),
      ("default.replication.factor", "1", 3),
      ("group.max.session.timeout.ms", "\(options.longestSession)", 3),
      ("group.max.size", "\(Group.mostMembers)", 3),
      ("group.min.session.timeout.ms", "\(options.shortestSession)", 3),
      ("node.id", name, 3), ("num.partitions", "\(options.partitions)", 3),
    ]
    // The topics' defaults, under the broker's names for them.
    for (own, topic) in [
      ("log.cleanup.policy", "cleanup.policy"), ("log.retention.bytes", "retention.bytes"),
      ("log.retention.ms", "retention.ms"), ("log.segment.bytes", "segment.bytes"),
      ("message.max.bytes", "max.message.bytes"), ("min.insync.replicas", "min.insync.replicas"),
    ] {
      guard let entry = TopicSettings.entries.first(where: { $0.name == topic }) else { continue }
      settings.append((own, entry.standard, entry.kind))
    }
    return settings
  }

  private func isBroker(_ name: String) -> Bool {
    name.isEmpty || brokers.contains { "\($0.id)" == name }
  }

  mutating func alterConfigs(
    _ request: Value, isIncremental: Bool, _ storage: any LogStorage
  ) -> Value {
    var answers: [Value] = []
    for asked in request["Results"].list {
      let problem = alter(
        asked, isIncremental: isIncremental, isTrial: request["ValidateOnly"].isTrue, storage)
      answers.append([
        "Type": asked["Type"], "Name": asked["Name"],
        "Error": .number((problem?.0 ?? .none).rawValue), "Message": .optional(problem?.1),
      ])
    }
    return ["Results": .list(answers)]
  }

  private mutating func alter(
    _ asked: Value, isIncremental: Bool, isTrial: Bool, _ storage: any LogStorage
  ) -> (ErrorCode, String)? {
    guard asked["Type"] == 2 else {
      return (.invalidRequest, "only configurations of topics can be changed")
    }
    guard var topic = topics[asked["Name"].text] else {
      return (.unknownTopicOrPartition, "no such topic")
    }
    if !isIncremental { topic.settings = TopicSettings() }
    for entry in asked["Configs"].list {
      let (name, value) = (entry["Name"].text, entry["Value"].optionalText)
      let operation = isIncremental ? entry["Operation"].int : 0
      let problem: String? =
        switch operation {
        case 0: topic.settings.set(name, value)
        case 1: topic.settings.set(name, nil)
        case 2: topic.settings.amend(name, value ?? "", isAdding: true)
        case 3: topic.settings.amend(name, value ?? "", isAdding: false)
        default: "no such operation"
        }
      if let problem { return (.invalidConfig, problem) }
    }
    if isTrial { return nil }
    do { try storage.note(Journal.topic(topic)) } catch { return (.storageError, error.reason) }
    topics[topic.name] = topic
    return nil
  }

  // MARK: Producers

  /// Gives each idempotent producer a unique id; transactions are rejected.
  mutating func initProducer(_ request: Value, _ storage: any LogStorage) -> Value {
    guard request["TransactionalId"].isNull else {
      return ["Error": .number(ErrorCode.transactionalIDNotAuthorized.rawValue)]
    }
    let (producer, epoch) = (request["ProducerId"].int, request["Epoch"].int)
    if producer >= 0, epoch < 32_766 {
      return ["ProducerId": .number(producer), "Epoch": .number(epoch + 1)]
    }
    // Recorded in steps of a thousand; ids skipped by a restart do not matter.
    if nextProducer % 1_000 == 0 {
      do {
        try storage.note(Journal.producers(nextProducer + 1_000))
      } catch {
        return ["Error": .number(ErrorCode.storageError.rawValue)]
      }
    }
    defer { nextProducer += 1 }
    return ["ProducerId": .number(nextProducer), "Epoch": 0]
  }
}
