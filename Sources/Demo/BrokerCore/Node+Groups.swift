// SPDX-License-Identifier: Apache-2.0
import Contract

/// Consumer groups and their offsets.
extension Node {
  /// The error if the broker cannot handle a group's request.
  private func problem(_ group: ExactText, _ caller: Caller) -> ErrorCode? {
    coordinator(group) == caller.broker ? nil : .notCoordinator
  }

  private func coordinator(_ group: ExactText) -> Int32 { coordinators[group] ?? brokers[0].id }

  func findCoordinator(_ request: Value, _ version: Int16, _ caller: Caller) -> Value {
    func found(_ key: String) -> Value {
      // The only error after which clients do not retry.
      guard request["KeyType"].int == 0 else {
        return [
          "Key": .text(key), "Error": .error(.transactionalIDNotAuthorized),
          "Message": "this broker has no transactions",
        ]
      }
      guard may(caller, .describe, .group(key)) else {
        return ["Key": .text(key), "Error": .error(.groupNotAuthorized)]
      }
      let number = coordinator(key.exact)
      guard let broker = brokers.first(where: { $0.id == number }) else {
        return ["Key": .text(key), "Error": .error(.coordinatorNotAvailable)]
      }
      return [
        "Key": .text(key), "NodeId": .number(broker.id), "Host": .text(broker.host),
        "Port": .number(broker.port),
      ]
    }
    if version >= 4 { return ["Coordinators": request["Coordinators"].map { found($0.text) }] }
    guard case .fields(let fields) = found(request["Key"].text) else { return [:] }
    return .fields(fields.filter { $0.name != "Key" })
  }

  mutating func rebalance(_ request: Request, _ caller: Caller, _ now: Moment) -> Outcome {
    let (body, name) = (request.body, request.body["GroupId"].text.exact)
    func refuse(_ error: ErrorCode) -> Outcome {
      .answer(Refusal.answer(to: body, request.api, error))
    }
    guard !name.isEmpty else { return refuse(.invalidGroupID) }
    if let error = problem(name, caller) { return refuse(error) }
    let new: [Group.Reply]
    if request.api.key == 11 {
      let session = body["SessionMs"].int
      guard (options.shortestSession...options.longestSession).contains(session) else {
        return refuse(.invalidSessionTimeout)
      }
      let newID = "\(body["InstanceId"].optionalText ?? request.clientID)-\(Self.hex(self.newID()))"
      let rebalance = body["RebalanceMs"].int
      let joining = Group.Joining(
        connection: caller.connection, member: body["MemberId"].text,
        instance: body["InstanceId"].optionalText, client: request.clientID, host: caller.host,
        session: session, rebalance: rebalance < 0 ? session : rebalance,
        kind: body["ProtocolType"].text,
        protocols: body["Protocols"].list.map {
          .init(name: $0["Name"].text, metadata: ArraySlice(Array($0["Metadata"].bytes)))
        }, needsID: request.version >= 4, skipsAssignment: request.version >= 9)
      new = groups[name, default: Group()].join(
        joining, newID: newID, now: now.ticks, firstDelay: options.firstJoinDelay)
    } else {
      guard groups[name] != nil else { return refuse(.unknownMember) }
      new = groups[name]!.sync(
        caller.connection, member: body["MemberId"].text,
        instance: body["InstanceId"].optionalText, generation: body["Generation"].int32,
        kind: body["ProtocolType"].optionalText, chosen: body["ProtocolName"].optionalText,
        assignments: body["Assignments"].list.map { ($0["MemberId"].text, $0["Assignment"].bytes) },
        now: now.ticks)
    }
    return outcome(of: new, caller)
  }

  /// Separates the caller's response from the others.
  private mutating func outcome(of new: [Group.Reply], _ caller: Caller) -> Outcome {
    replies += new.filter { $0.connection != caller.connection }
    return new.first { $0.connection == caller.connection }.map { .answer($0.body) } ?? .later
  }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  mutating func heartbeat(_ request: Value, _ caller: Caller, _ now: Moment) -> Value {
    let name = request["GroupId"].text.exact
    let error =
      problem(name, caller)
      ?? groups[name]?.heartbeat(
        member: request["MemberId"].text, instance: request["InstanceId"].optionalText,
        generation: request["Generation"].int32, now: now.ticks) ?? .unknownMember
    return ["Error": .error(error)]
  }

  mutating func leave(
    _ request: Value, _ version: Int16, _ caller: Caller, _ now: Moment
  ) -> Value {
    let name = request["GroupId"].text.exact
    if let error = problem(name, caller) { return ["Error": .error(error)] }
    let leaving: [Value] =
      version >= 3 ? request["Members"].list : [["MemberId": request["MemberId"]]]
    var answers: [Value] = []
    var last = ErrorCode.none
    for member in leaving {
      let id = member["MemberId"].text
      let instance = member["InstanceId"].optionalText
      let result =
        groups[name]?.leave(member: id, instance: instance, now: now.ticks) ?? (.unknownMember, [])
      replies += result.replies
      last = result.error
      answers.append([
        "MemberId": .text(id), "InstanceId": .optional(instance),
        "MemberError": .error(result.error),
      ])
    }
    if version < 3 { return ["Error": .error(last)] }
    return ["Members": .list(answers)]
  }

  // MARK: Offsets

  mutating func commitOffsets(
    _ request: Value, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Value {
    let name = request["GroupId"].text.exact
    var refusal = name.isEmpty ? ErrorCode.invalidGroupID : problem(name, caller)
    if refusal == nil {
      refusal = groups[name, default: Group()].checkCommit(
        member: request["MemberId"].text, instance: request["InstanceId"].optionalText,
        generation: request["Generation"].int32, now: now.ticks)
    }
    let answer = request.eachPartition { topic, index, asked in
      let error = refusal ?? commit(name, TopicPartition(topic, index), asked, storage)
      return ["Index": .number(index), "Error": .error(error)]
    }
    if groups[name]?.isDead == true { groups[name] = nil }
    return answer
  }

  private mutating func commit(
    _ group: ExactText, _ partition: TopicPartition, _ asked: Value, _ storage: any LogStorage
  ) -> ErrorCode {
    guard topics[partition.topic]?.has(partition.partition) == true else {
      return .unknownTopicOrPartition
    }
    let metadata = asked["Metadata"].optionalText
    guard metadata?.utf8.count ?? 0 <= 4_096 else { return .offsetMetadataTooLarge }
    let committed = Group.Committed(
      offset: asked["Offset"].int, epoch: asked["LeaderEpoch"].int32, metadata: metadata)
    do {
      try storage.note(Journal.offset(group, partition, committed))
    } catch {
      return .storageError
    }
    groups[group]?.offsets[partition] = committed
    return .none
  }

  func committedOffsets(_ request: Value, _ version: Int16, _ caller: Caller) -> Value {
    if version >= 8 {
      return ["Groups": request["Groups"].map { committed($0, caller) }]
    }
    guard case .fields(let fields) = committed(request, caller) else { return [:] }
    return .fields(fields.filter { $0.name != "GroupId" })
  }

  private func committed(_ asked: Value, _ caller: Caller) -> Value {
    let name = asked["GroupId"].text.exact
    let isAllowed = may(caller, .describe, .group(name.text))
    if let error = isAllowed ? problem(name, caller) : .groupNotAuthorized {
      return ["GroupId": .text(name.text), "Error": .error(error), "Topics": []]
    }
    let offsets = groups[name]?.offsets ?? [:]
    func isVisible(_ topic: String) -> Bool { may(caller, .describe, .topic(topic)) }
    func described(_ topic: String, _ partitions: [Int32]) -> Value {
      let isVisible = isVisible(topic)
      let entries: [Value] = partitions.map { index in
        let found = isVisible ? offsets[TopicPartition(topic, index)] : nil
        let error = isVisible ? ErrorCode.none : .topicNotAuthorized
        return [
          "Index": .number(index), "Offset": .number(found?.offset ?? -1),
          "LeaderEpoch": .number(found?.epoch ?? -1), "Metadata": .text(found?.metadata ?? ""),
          "PartitionError": .error(error),
        ]
      }
      return ["Name": .text(topic), "Partitions": .list(entries)]
    }
    if asked["Topics"].isNull {
      let all = Dictionary(grouping: offsets.keys, by: \.topic).sorted { $0.key < $1.key }
      let topics = all.filter { isVisible($0.key) }.map {
        described($0.key, $0.value.map(\.partition).sorted())
      }
      return ["GroupId": .text(name.text), "Topics": .list(topics)]
    }
    let topics = asked["Topics"].map { topic in
      described(topic["Name"].text, topic["Partitions"].list.map(\.int32))
    }
    return ["GroupId": .text(name.text), "Topics": topics]
  }

  mutating func deleteOffsets(_ request: Value, _ storage: any LogStorage) -> Value {
    let name = request["GroupId"].text.exact
    guard let group = groups[name] else { return ["Error": .error(.groupNotFound)] }
    // The members know which topics are read: while there are any, no offset is deleted.
    let isFree = group.state == .empty
    return request.eachPartition { topic, index, _ in
      let error: ErrorCode =
        isFree ? forget(TopicPartition(topic, index), of: name, storage) : .groupSubscribed
      return ["Index": .number(index), "PartitionError": .error(error)]
    }
  }

  /// Deletes an offset, unless that cannot be recorded: a restart would bring it back.
  private mutating func forget(
    _ partition: TopicPartition, of group: ExactText, _ storage: any LogStorage
  ) -> ErrorCode {
    do {
      try storage.note(Journal.gone(offset: partition, of: group))
    } catch {
      return .storageError
    }
    groups[group]?.offsets[partition] = nil
    return .none
  }

  // MARK: Administration

  func listGroups(_ request: Value, _ caller: Caller) -> Value {
    let seesAll = may(caller, .describe, .cluster)
    let states = request["States"].list.map { $0.text.lowercased() }
    let types = request["Types"].list.map { $0.text.lowercased() }
    let found = groups.sorted { $0.key < $1.key }.filter { entry in
      (states.isEmpty || states.contains(entry.value.state.rawValue.lowercased()))
        && (types.isEmpty || types.contains("classic"))
        && (seesAll || may(caller, .describe, .group(entry.key.text)))
    }
    let entries: [Value] = found.map { name, group in
      [
        "GroupId": .text(name.text), "ProtocolType": .text(group.kind),
        "State": .text(group.state.rawValue), "Type": "classic",
      ]
    }
    return ["Groups": .list(entries)]
  }

  func describeGroups(_ request: Value, _ caller: Caller) -> Value {
    let tellsRights = request["Rights"].isTrue
    let found = request["Groups"].map { name in
      let answer = described(group: name.text)
      return tellsRights ? answer.with("Rights", rights(caller, .group(name.text))) : answer
    }
    return ["Groups": found]
  }

  private func described(group name: String) -> Value {
    guard let group = groups[name.exact] else { return ["GroupId": .text(name), "State": "Dead"] }
    let members: [Value] = group.members.map { member in
      let metadata = member.protocols.first { $0.name == group.chosen }?.metadata ?? []
      return [
        "MemberId": .text(member.id), "InstanceId": .optional(member.instance),
        "ClientId": .text(member.client), "Host": .text("/" + member.host),
        "Metadata": .bytes(metadata), "Assignment": .bytes(member.assignment),
      ]
    }
    return [
      "GroupId": .text(name), "State": .text(group.state.rawValue),
      "ProtocolType": .text(group.kind), "Protocol": .text(group.chosen ?? ""),
      "Members": .list(members),
    ]
  }

  mutating func deleteGroups(_ request: Value, _ storage: any LogStorage) -> Value {
    var answers: [Value] = []
    for name in request["Groups"].list.map(\.text.exact) {
      var error = ErrorCode.none
      if let group = groups[name] {
        error = group.state == .empty ? .none : .nonEmptyGroup
        if error == .none {
          if (try? storage.note(Journal.gone(group: name))) != nil {
            groups[name] = nil
          } else {
            error = .storageError
          }
        }
      } else {
        error = .groupNotFound
      }
      answers.append(["GroupId": .text(name.text), "Error": .error(error)])
    }
    return ["Groups": .list(answers)]
  }
}
