// SPDX-License-Identifier: Apache-2.0

/// Topics: CreateTopics, DeleteTopics, CreatePartitions.
extension Node {
  static func isValid(_ name: String) -> Bool {
    let isPlain = name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "._-".utf8.contains(byte)
    }
    return isPlain && (1...249).contains(name.utf8.count) && name != "." && name != ".."
  }

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
        answers.append(createTopic(topic, isTrial: request["ValidateOnly"].isTrue, caller, storage))
      } else if repeated.insert(name).inserted {
        answers.append([
          "Name": .text(name), "Error": .error(.invalidRequest),
          "Message": .text("topic '\(name)' is asked for more than once"),
        ])
      }
    }
    return ["Topics": .list(answers)]
  }

  func hasRoom(for more: Int32) -> Bool {
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
      ["Name": .text(name), "Error": .error(error), "Message": .text(message)]
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
      return created.with("ConfigError", .error(.topicNotAuthorized))
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
      version >= 6 ? request["Topics"].list : request["Names"].list.map { ["Name": $0] }
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
      answers.append(["Name": .optional(told), "Id": entry["Id"], "Error": .error(error)])
    }
    return ["Topics": .list(answers)]
  }

  private mutating func delete(_ topic: Topic, _ storage: any LogStorage) throws(StorageFull) {
    try storage.note(Journal.gone(topic: topic.number))
    finishSatisfied(storage)
    topics[topic.name] = nil
    namesByID[topic.id] = nil
    finishFetches(of: topic, storage)
    loadReplies(storage)
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
      answers.append(["Name": .text(name), "Error": .error(error), "Message": .optional(message)])
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
}
