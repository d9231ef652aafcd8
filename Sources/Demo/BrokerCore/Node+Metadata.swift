// SPDX-License-Identifier: Apache-2.0

/// What the node says of the cluster and its topics.
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

  mutating func metadata(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    let answer = known(request, version, caller)
    // As in Kafka, the topic is not in this response yet: the client asks again.
    if options.createsTopics, request["MayCreate"].isTrue {
      for topic in request["Topics"].list { createMissing(topic["Name"].text, caller, storage) }
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
        return ["Error": .error(.unknownTopicID), "Id": topic["Id"], "Name": .null]
      }
    }
    let answer = describeCluster(tellsRights: request["ClusterRights"].isTrue, caller)
      .with("Topics", .list(found))
    return hidesClusterID ? answer.with("ClusterId", .null).with("Controller", .number(-1)) : answer
  }

  /// Creates a missing topic if the caller may; otherwise the response reports it as missing.
  private mutating func createMissing(_ name: String, _ caller: Caller, _ storage: any LogStorage) {
    guard topics[name] == nil, Self.isValid(name), hasRoom(for: options.partitions),
      may(caller, .create, .cluster) || may(caller, .create, .topic(name))
    else { return }
    do {
      try create(name, partitions: options.partitions, TopicSettings(), storage)
    } catch {
      storageProblem = error.reason
    }
  }

  private func hidden(_ asked: Value) -> Value { asked.with("Error", .error(.topicNotAuthorized)) }

  private func unknown(_ name: String) -> Value {
    let error = Self.isValid(name) ? ErrorCode.unknownTopicOrPartition : .invalidTopic
    return ["Error": .error(error), "Name": .text(name)]
  }

  private func described(_ topic: Topic) -> Value {
    if let fault = topic.fault { return ["Error": .error(fault), "Name": .text(topic.name)] }
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
}
