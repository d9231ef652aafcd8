// SPDX-License-Identifier: Apache-2.0

/// Records: Produce, Fetch, ListOffsets, DeleteRecords, and retention and compaction.
extension Node {
  /// The error if the caller cannot use a partition.
  func problem(_ topic: Topic?, _ partition: Int32, _ caller: Caller) -> ErrorCode? {
    guard let topic, topic.has(partition) else { return .unknownTopicOrPartition }
    return topic.leaders[Int(partition)] == caller.broker ? nil : .notLeader
  }

  /// Builds the response's topics: calls `body` for each partition, with the topic's name.
  func eachPartition(
    _ request: Value, _ body: (String, Int32, Value) -> Value
  ) -> Value {
    request["Topics"].map { topic in
      let name = topic["Name"].text
      return [
        "Name": .text(name),
        "Partitions": topic["Partitions"].map { body(name, $0["Index"].int32, $0) },
      ]
    }
  }

  // MARK: Produce

  mutating func produce(
    _ request: Value, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    let acks = request["Acks"].int
    var answers: [Value] = []
    for topic in request["Topics"].list {
      let name = topic["Name"].text
      let partitions = topic["Partitions"].list.map { partition in
        let index = partition["Index"].int32
        guard (-1...1).contains(acks) else { return refused(index, .invalidRequiredAcks) }
        return append(partition["Records"].bytes, name, index, caller, now, storage)
      }
      answers.append(["Name": .text(name), "Partitions": .list(partitions)])
    }
    return acks == 0 ? .silent : .answer(["Topics": .list(answers)])
  }

  private func refused(_ index: Int32, _ error: ErrorCode, _ message: String? = nil) -> Value {
    ["Index": .number(index), "Error": .number(error.rawValue), "Message": .optional(message)]
  }

  /// The error for records without a key, which compacted topics reject. The positions tell clients which records of
  /// the rejected batch lack a key.
  private func withoutKeys(_ places: [Int], _ index: Int32) -> Value {
    let message = "a topic that is compacted takes no records without keys"
    let errors: [Value] = places.map { place in
      ["BatchIndex": .number(place), "Message": .text(message)]
    }
    return refused(index, .invalidRecord, message).with("RecordErrors", .list(errors))
  }

  private mutating func append(
    _ records: ArraySlice<UInt8>, _ name: String, _ index: Int32, _ caller: Caller, _ now: Moment,
    _ storage: any LogStorage
  ) -> Value {
    if let error = problem(topics[name], index, caller) { return refused(index, error) }
    let settings = topics[name]!.settings
    guard records.count > 16 else { return refused(index, .invalidRecord) }
    guard records[records.startIndex + 16] == 2 else {
      return refused(index, .unsupportedForMessageFormat)
    }
    guard var header = BatchHeader(records) else { return refused(index, .corruptMessage) }
    guard header.size <= settings.largestBatch else { return refused(index, .messageTooLarge) }
    guard header.isIntact(records, by: options.checksum) else {
      return refused(index, .corruptMessage)
    }
    var records = records
    if let (error, keyless) = Self.judge(&header, &records, settings) {
      return keyless.isEmpty ? refused(index, error) : withoutKeys(keyless, index)
    }
    let offset: Int64
    switch verdict(header, name, Int(index)) {
    case .duplicate(let entry): offset = entry.offset
    case .refuse(let error): return refused(index, error)
    case .append:
      do {
        offset = try write(records, header, name, Int(index), now, storage)
        storageProblem = nil
      } catch {
        storageProblem = error.reason
        return refused(index, .storageError, error.reason)
      }
    }
    return [
      "Index": .number(index), "BaseOffset": .number(offset),
      "LogStart": .number(topics[name]!.logs[Int(index)].start),
      "Time": .number(settings.hasLogAppendTime ? now.time : -1),
    ]
  }

  private func verdict(_ header: BatchHeader, _ name: String, _ index: Int) -> ProducerState.Verdict
  {
    guard header.producer >= 0, header.sequence >= 0 else { return .append }
    return ProducerState.judge(header, topics[name]!.logs[index].producers[header.producer])
  }

  /// Checks a client's batch. A batch without its newest time gets it, as in Kafka: lookups and retention depend on it.
  ///
  /// - Returns: The error, and the records that lack a required key.
  private static func judge(
    _ header: inout BatchHeader, _ records: inout ArraySlice<UInt8>, _ settings: TopicSettings
  ) -> (ErrorCode, [Int])? {
    guard header.size == records.count, header.codec != nil, header.count > 0,
      header.lastDelta == header.count - 1
    else { return (.invalidRecord, []) }
    if header.isControl { return (.invalidRecord, []) }
    if header.isTransactional { return (.invalidTransactionState, []) }
    let isPlain = header.codec == BatchHeader.Codec.none
    guard settings.isCompacting || isPlain || header.newestTime < header.firstTime else {
      return nil
    }
    let all = Records.read(records, header)
    let newest = all?.lazy.map(\.time).max() ?? max(header.firstTime, header.newestTime)
    if newest != header.newestTime {
      header.newestTime = newest
      records = BatchHeader.with(newestTime: newest, records)
    }
    // A batch with an unsupported codec is accepted unchecked.
    guard let all else {
      if isPlain { return (.invalidRecord, []) }
      return nil
    }
    guard settings.isCompacting else { return nil }
    let keyless = all.indices.filter { all[$0].key == nil }
    if keyless.isEmpty { return nil }
    return (.invalidRecord, keyless)
  }

  mutating func write(
    _ records: ArraySlice<UInt8>, _ header: BatchHeader, _ name: String, _ index: Int,
    _ now: Moment,
    _ storage: any LogStorage
  ) throws(StorageFull) -> Int64 {
    var (records, header) = (records, header)
    let settings = topics[name]!.settings
    if settings.hasLogAppendTime {
      var batch = Array(records)
      BatchHeader.stamp(&batch, time: now.time)
      header.newestTime = now.time
      records = batch[...]
    }
    let offset = try topics[name]!.logs[index].append(
      records, header, settings, now: now.time, storage)
    appended += UInt64(header.count)
    wake(topics[name]!.logs[index].id, records.count, storage)
    return offset
  }

  // MARK: Fetch

  mutating func fetch(
    _ request: Value, _ version: Int16, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    // Fetch sessions are not supported: every request names all its partitions.
    guard request["SessionId"].int == 0 || request["SessionEpoch"] == -1 else {
      return .answer(["SessionError": .number(ErrorCode.fetchSessionNotFound.rawValue)])
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
      .init(name: "Error", value: .number(error.rawValue)),
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

  /// Answers waiting requests that have enough bytes after an append to a log.
  mutating func wake(_ log: LogID, _ bytes: Int, _ storage: any LogStorage) {
    for (connection, fetch) in fetches where fetch.logs.contains(log) {
      fetches[connection]!.wanted -= bytes
      if fetch.wanted <= bytes { finish(connection, storage) }
    }
  }

  mutating func finish(_ connection: ConnectionID, _ storage: any LogStorage) {
    guard let fetch = forgetFetch(connection) else { return }
    replies.append(
      .init(
        connection: connection,
        body: fetched(fetch.request, fetch.version, fetch.caller, storage)))
  }

  @discardableResult
  mutating func forgetFetch(_ connection: ConnectionID) -> WaitingFetch? {
    fetches.removeValue(forKey: connection)
  }

  /// Answers all requests that wait for records of a topic that was changed.
  mutating func finishFetches(of topic: Topic, _ storage: any LogStorage) {
    for (connection, fetch) in fetches
    where fetch.logs.contains(where: { $0.topic == topic.number }) {
      finish(connection, storage)
    }
  }

  // MARK: Offsets

  func listOffsets(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    let answers = eachPartition(request) { name, index, asked in
      if let error = problem(topics[name], index, caller) {
        return ["Index": .number(index), "Error": .number(error.rawValue)]
      }
      let log = topics[name]!.logs[Int(index)]
      let found: PartitionLog.Position? =
        switch asked["Time"].int {
        case -1: .init(offset: log.end, time: -1, epoch: log.epoch)
        // The earliest offset, and the earliest local one (as opposed to tiered storage).
        case -2, -4: .init(offset: log.start, time: -1, epoch: log.epoch)
        case -3: log.newest(storage)
        // The newest offset in tiered storage, which does not exist.
        case -5: nil
        case let time: log.position(atTime: time, storage)
        }
      return [
        "Index": .number(index), "Offset": .number(found?.offset ?? -1),
        "Time": .number(found?.time ?? -1), "LeaderEpoch": .number(found?.epoch ?? -1),
        "OldOffsets": .list(found.map { [.number($0.offset)] } ?? []),
      ]
    }
    return ["Topics": answers]
  }

  func offsetsForEpochs(_ request: Value, _ caller: Caller) -> Value {
    let answers = eachPartition(request) { name, index, asked in
      if let error = problem(topics[name], index, caller) {
        return ["Index": .number(index), "Error": .number(error.rawValue)]
      }
      let end = topics[name]!.logs[Int(index)].endOfEpoch(asked["LeaderEpoch"].int32)
      return [
        "Index": .number(index), "LeaderEpoch": .number(end?.epoch ?? -1),
        "EndOffset": .number(end?.end ?? -1),
      ]
    }
    return ["Topics": answers]
  }

  mutating func deleteRecords(
    _ request: Value, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    var answers: [Value] = []
    for topic in request["Topics"].list {
      let name = topic["Name"].text
      let partitions: [Value] = topic["Partitions"].list.map { asked in
        let index = asked["Index"].int32
        func refuse(_ error: ErrorCode) -> Value {
          ["Index": .number(index), "Error": .number(error.rawValue)]
        }
        if let error = problem(topics[name], index, caller) { return refuse(error) }
        guard topics[name]!.settings.isDeleting else { return refuse(.policyViolation) }
        let log = topics[name]!.logs[Int(index)]
        let offset = asked["Offset"] == -1 ? log.end : asked["Offset"].int
        guard (0...log.end).contains(offset) else { return refuse(.offsetOutOfRange) }
        do { try cut(name, Int(index), to: offset, storage) } catch { return refuse(.storageError) }
        return [
          "Index": .number(index), "LowWatermark": .number(topics[name]!.logs[Int(index)].start),
        ]
      }
      answers.append(["Name": .text(name), "Partitions": .list(partitions)])
    }
    return ["Topics": .list(answers)]
  }

  /// Advances the start offset of a partition's log.
  public mutating func cut(
    _ name: String, _ index: Int, to offset: Int64, _ storage: any LogStorage
  ) throws(StorageFull) {
    guard let topic = topics[name], topic.has(Int32(index)) else { return }
    let log = topic.logs[index]
    guard offset > log.start else { return }
    try storage.note(Journal.start(log.id, offset))
    topics[name]!.logs[index].cut(to: offset, storage)
  }

  /// Applies retention by time and size, and forgets producers that were inactive for a day.
  public mutating func retain(at now: Moment, _ storage: any LogStorage) {
    for (name, topic) in topics {
      for index in topic.logs.indices {
        let log = topics[name]!.logs[index]
        try? cut(name, index, to: log.startByRetention(topic.settings, now: now.time), storage)
        topics[name]!.logs[index].expireProducers(before: now.time - 86_400_000)
      }
    }
  }

  /// The next compaction run that is due; nil if there is none.
  public func compaction(at now: Moment) -> (partition: TopicPartition, run: Compaction)? {
    for (name, topic) in topics where topic.settings.isCompacting {
      for (index, log) in topic.logs.enumerated() {
        if let run = Compaction(log, topic.settings, now: now.time) {
          return (TopicPartition(name, Int32(index)), run)
        }
      }
    }
    return nil
  }

  /// Performs the next step of a run; returns false when it is over or its topic was deleted.
  public mutating func step(
    _ run: inout Compaction, _ partition: TopicPartition, _ storage: any LogStorage
  ) -> Bool {
    guard topics[partition.topic]?.has(partition.partition) == true else { return false }
    return
      (try? run.step(&topics[partition.topic]!.logs[Int(partition.partition)], storage)) ?? false
  }
}
