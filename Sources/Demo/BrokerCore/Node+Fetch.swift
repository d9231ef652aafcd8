// SPDX-License-Identifier: Apache-2.0

/// Fetch, whose answer may wait for records.
extension Node {
  mutating func fetch(
    _ request: Value, _ version: Int16, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    // Fetch sessions are not supported: every request names all its partitions.
    guard request["SessionId"].int == 0 || request["SessionEpoch"] == -1 else {
      return .answer(["SessionError": .error(.fetchSessionNotFound)])
    }
    var available = 0
    var isBroken = false
    var logs: [LogID] = []
    for topic in request["Topics"].list {
      let found = readable(topic, version, caller)
      for partition in topic["Partitions"].list {
        guard fetchProblem(found, partition, caller) == nil, let topic = found.topic else {
          isBroken = true
          continue
        }
        let log = topic.logs[Int(partition["Index"].int)]
        logs.append(log.id)
        available += log.bytes(from: partition["Offset"].int, storage)
      }
    }
    let wait = request["MaxWaitMs"].int
    let wanted = Int(min(request["MinBytes"].int, request["MaxBytes"].int)) - available
    guard !isBroken, wanted > 0, wait > 0, !logs.isEmpty else {
      return .answer(fetched(request, version, caller, storage))
    }
    fetches[caller.connection] = WaitingFetch(
      caller: caller, request: request, version: version, until: now.ticks + wait, wanted: wanted,
      logs: logs)
    fetchesDue = min(fetchesDue, now.ticks + wait)
    return .later
  }

  /// Returns the topic in a Fetch request, or the error for the caller.
  private func readable(
    _ asked: Value, _ version: Int16, _ caller: Caller
  ) -> (topic: Topic?, error: ErrorCode) {
    let isByID = version >= 13
    let name = isByID ? namesByID[Array(asked["Id"].bytes)] : asked["Name"].text
    guard let name else { return (nil, .unknownTopicID) }
    guard may(caller, .read, .topic(name)) else { return (nil, .topicNotAuthorized) }
    return (topics[name], isByID ? .unknownTopicID : .unknownTopicOrPartition)
  }

  private func fetchProblem(
    _ found: (topic: Topic?, error: ErrorCode), _ asked: Value, _ caller: Caller
  ) -> ErrorCode? {
    guard let topic = found.topic else { return found.error }
    let index = asked["Index"].int32
    if let error = problem(topic, index, caller) { return error }
    let log = topic.logs[Int(index)]
    let epoch = asked["LeaderEpoch"].int32
    if epoch >= 0, epoch != log.epoch {
      return epoch < log.epoch ? .fencedLeaderEpoch : .unknownLeaderEpoch
    }
    return (log.start...log.end).contains(asked["Offset"].int) ? nil : .offsetOutOfRange
  }

  private func fetched(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    var room = min(Int(request["MaxBytes"].int), options.largestFetch)
    var isFirst = true
    let topics: [Value] = request["Topics"].list.map { asked in
      let found = readable(asked, version, caller)
      let partitions: [Value] = asked["Partitions"].list.map { partition in
        if let error = fetchProblem(found, partition, caller) {
          return fetchRefusal(partition, error, found.topic)
        }
        let log = found.topic!.logs[Int(partition["Index"].int)]
        let limit = min(room, Int(partition["MaxBytes"].int))
        let ranges =
          limit > 0 || isFirst
          ? log.read(from: partition["Offset"].int, atMost: limit, isFirst: isFirst, storage) : []
        for range in ranges { room -= range.range.count }
        if !ranges.isEmpty { isFirst = false }
        return [
          "Index": partition["Index"], "HighWatermark": .number(log.end),
          "LastStable": .number(log.end), "LogStart": .number(log.start),
          "Records": .stored(ranges),
        ]
      }
      return ["Name": asked["Name"], "Id": asked["Id"], "Partitions": .list(partitions)]
    }
    return ["Topics": .list(topics)]
  }

  private func fetchRefusal(_ asked: Value, _ error: ErrorCode, _ topic: Topic?) -> Value {
    var answer: [Value.Field] = [
      .init(name: "Index", value: asked["Index"]),
      .init(name: "Error", value: .error(error)),
    ]
    let index = Int(asked["Index"].int32)
    if let topic, topic.has(asked["Index"].int32) {
      let (log, leader) = (topic.logs[index], topic.leaders[index])
      if error == .offsetOutOfRange {
        answer.append(.init(name: "HighWatermark", value: .number(log.end)))
        answer.append(.init(name: "LogStart", value: .number(log.start)))
      } else {
        answer.append(
          .init(
            name: "CurrentLeader",
            value: ["LeaderId": .number(leader), "LeaderEpoch": .number(log.epoch)]))
      }
    }
    return .fields(answer)
  }

  /// Notes the waiting requests that have enough bytes after an append to a log. `takeReplies` answers them: what other
  /// requests of the same turn append to their partitions needs no further Fetch.
  mutating func wake(_ log: LogID, _ bytes: Int) {
    for (connection, fetch) in fetches where fetch.wanted > 0 && fetch.logs.contains(log) {
      fetches[connection]!.wanted -= bytes
      if fetch.wanted <= bytes { satisfied.append(connection) }
    }
  }

  mutating func finishSatisfied(_ storage: any LogStorage) {
    for connection in satisfied { finish(connection, storage) }
    satisfied.removeAll(keepingCapacity: true)
  }

  mutating func finish(_ connection: ConnectionID, _ storage: any LogStorage) {
    guard let fetch = fetches.removeValue(forKey: connection) else { return }
    replies.append(
      .init(
        connection: connection, body: fetched(fetch.request, fetch.version, fetch.caller, storage)))
  }

  /// Reads the records of answers that nobody has taken yet; without their files they could not be read later.
  mutating func loadReplies(_ storage: any LogStorage) {
    finishSatisfied(storage)
    for place in replies.indices { replies[place].body = replies[place].body.loaded(storage) }
  }

  /// Answers all requests that wait for records of a topic that was changed.
  mutating func finishFetches(of topic: Topic, _ storage: any LogStorage) {
    for (connection, fetch) in fetches
    where fetch.logs.contains(where: { $0.topic == topic.number }) { finish(connection, storage) }
  }
}
