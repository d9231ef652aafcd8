// SPDX-License-Identifier: Apache-2.0

/// Records: Produce, ListOffsets, DeleteRecords, and retention and compaction.
extension Node {
  /// The error if the caller cannot use a partition.
  func problem(_ topic: Topic?, _ partition: Int32, _ caller: Caller) -> ErrorCode? {
    guard let topic, topic.has(partition) else { return .unknownTopicOrPartition }
    return topic.leaders[Int(partition)] == caller.broker ? nil : .notLeader
  }

  // MARK: Produce

  mutating func produce(
    _ request: Value, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    let acks = request["Acks"].int
    let answer = request.eachPartition { name, index, asked in
      guard (-1...1).contains(acks) else { return refused(index, .invalidRequiredAcks) }
      return append(asked["Records"].bytes, name, index, caller, now, storage)
    }
    return acks == 0 ? .silent : .answer(answer)
  }

  private func refused(_ index: Int32, _ error: ErrorCode, _ message: String? = nil) -> Value {
    let answer: Value = ["Index": .number(index), "Error": .error(error)]
    return message.map { answer.with("Message", .text($0)) } ?? answer
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
    wake(topics[name]!.logs[index].id, records.count)
    return offset
  }

  /// Gives each idempotent producer a unique id; transactions are rejected.
  mutating func initProducer(_ request: Value, _ storage: any LogStorage) -> Value {
    guard request["TransactionalId"].isNull else {
      return ["Error": .error(.transactionalIDNotAuthorized)]
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
        return ["Error": .error(.storageError)]
      }
    }
    defer { nextProducer += 1 }
    return ["ProducerId": .number(nextProducer), "Epoch": 0]
  }

  // MARK: Offsets

  func listOffsets(
    _ request: Value, _ version: Int16, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    request.eachPartition { name, index, asked in
      if let error = problem(topics[name], index, caller) { return refused(index, error) }
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
  }

  func offsetsForEpochs(_ request: Value, _ caller: Caller) -> Value {
    request.eachPartition { name, index, asked in
      if let error = problem(topics[name], index, caller) { return refused(index, error) }
      let end = topics[name]!.logs[Int(index)].endOfEpoch(asked["LeaderEpoch"].int32)
      return [
        "Index": .number(index), "LeaderEpoch": .number(end?.epoch ?? -1),
        "EndOffset": .number(end?.end ?? -1),
      ]
    }
  }

  mutating func deleteRecords(
    _ request: Value, _ caller: Caller, _ storage: any LogStorage
  ) -> Value {
    request.eachPartition { name, index, asked in
      if let error = problem(topics[name], index, caller) { return refused(index, error) }
      guard topics[name]!.settings.isDeleting else { return refused(index, .policyViolation) }
      let log = topics[name]!.logs[Int(index)]
      let offset = asked["Offset"] == -1 ? log.end : asked["Offset"].int
      guard (0...log.end).contains(offset) else { return refused(index, .offsetOutOfRange) }
      do {
        try cut(name, Int(index), to: offset, storage)
      } catch {
        return refused(index, .storageError)
      }
      return [
        "Index": .number(index), "LowWatermark": .number(topics[name]!.logs[Int(index)].start),
      ]
    }
  }

  /// Advances the start offset of a partition's log.
  public mutating func cut(
    _ name: String, _ index: Int, to offset: Int64, _ storage: any LogStorage
  ) throws(StorageFull) {
    guard let topic = topics[name], topic.has(Int32(index)) else { return }
    let log = topic.logs[index]
    guard offset > log.start else { return }
    try storage.note(Journal.start(log.id, offset))
    loadReplies(storage)
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
