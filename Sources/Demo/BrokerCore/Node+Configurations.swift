// SPDX-License-Identifier: Apache-2.0

/// The settings of topics and brokers.
extension Node {
  func described(_ entry: TopicSettings.Entry, _ settings: TopicSettings) -> [Value.Field] {
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
        return ["Error": .error(error), "Type": asked["Type"], "Name": .text(name)]
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
        "Error": .error(problem?.0 ?? .none), "Message": .optional(problem?.1),
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
}
