// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
import EventLoop
import Glibc

extension KafkaAdmin {
  /// The watermarks of many partitions, in the order given, with two requests per broker.
  ///
  /// Throws when a partition does not exist or a broker does not answer within the time.
  public func watermarks(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Watermarks] {
    let low = try ends(partitions, Int64(RD_KAFKA_OFFSET_BEGINNING), timeoutMilliseconds)
    let high = try ends(partitions, Int64(RD_KAFKA_OFFSET_END), timeoutMilliseconds)
    return zip(low, high).map { Watermarks(low: $0, high: $1) }
  }

  /// The watermarks of those of these partitions whose leaders answer, leader by leader: as many times the timeout as
  /// there are brokers that do not answer, however many partitions they lead, and none for partitions without a leader.
  ///
  /// - Parameter isEnding: whether to give up; asked before each leader.
  public func reachableWatermarks(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32, isEnding: () -> Bool = { false }
  ) -> [TopicPartition: Watermarks] {
    let leaders =
      (try? self.leaders(of: partitions, timeoutMilliseconds: timeoutMilliseconds)) ?? [:]
    var found: [TopicPartition: Watermarks] = [:]
    for (_, led) in Dictionary(grouping: leaders.keys, by: { leaders[$0] ?? -1 })
    where !isEnding() {
      let known = knownWatermarks(led, timeoutMilliseconds: timeoutMilliseconds)
      found.merge(known) { first, _ in first }
    }
    return found
  }

  /// The offsets of the first records at or after a time, in the order given; the end of the log for a partition
  /// without any. No record of that time is before them, however late it is written.
  ///
  /// Throws when a partition does not exist or a broker does not answer within the time.
  ///
  /// - Parameter moment: milliseconds since the epoch.
  public func offsets(
    _ partitions: [TopicPartition], at moment: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Int64] {
    // The ends first: what is written between the two questions lies behind them.
    let high = try ends(partitions, Int64(RD_KAFKA_OFFSET_END), timeoutMilliseconds)
    let found = try ends(partitions, max(0, moment), timeoutMilliseconds)
    return zip(found, high).map { $0 < 0 ? $1 : $0 }
  }

  /// Waits until the leader of every partition answers. A cluster reports a topic as created before all of its brokers
  /// know it (KRaft), and a client that uses it at once is told that the partition does not exist.
  ///
  /// Throws the error of the last attempt on timeout.
  public func awaitLeaders(
    of partitions: [TopicPartition], timeoutMilliseconds: UInt64
  ) throws(KafkaError) {
    let deadline = MonotonicClock.milliseconds() + timeoutMilliseconds
    while true {
      do throws(KafkaError) {
        _ = try watermarks(partitions, timeoutMilliseconds: 2_000)
        return
      } catch {
        guard MonotonicClock.milliseconds() < deadline else { throw error }
      }
      usleep(50_000)
      // librdkafka caches that there was no leader, and does not ask again by itself.
      _ = try? partitionCounts(timeoutMilliseconds: 2_000)
    }
  }

  /// The same for every partition of newly created topics.
  public func awaitLeaders(
    of topics: [KafkaTopicSpecification], timeoutMilliseconds: UInt64
  ) throws(KafkaError) {
    let partitions = topics.flatMap { topic in
      (0..<Int32(topic.partitions)).map { TopicPartition(topic: topic.name, partition: $0) }
    }
    try awaitLeaders(of: partitions, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The offsets at a time; the "timestamps" −2 and −1 ask for the start and the end of a partition.
  private func ends(
    _ partitions: [TopicPartition], _ end: Int64, _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Int64] {
    guard !partitions.isEmpty else { return [] }
    do throws(KafkaError) {
      return try askEnds(partitions, end, timeoutMilliseconds)
    } catch {
      guard error.code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION.rawValue else { throw error }
    }
    // librdkafka asks the cached leader and does not look for the new one by itself.
    _ = try partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
    return try askEnds(partitions, end, timeoutMilliseconds)
  }

  private func askEnds(
    _ partitions: [TopicPartition], _ end: Int64, _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Int64] {
    let list = PartitionList(capacity: partitions.count)
    for partition in partitions { list.add(partition).pointee.offset = end }
    let code = rd_kafka_offsets_for_times(handle, list.raw, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      let subject = partitions.count == 1 ? "\(partitions[0])" : "\(partitions.count) partitions"
      throw KafkaError(ofLeaders: code, "cannot read the watermarks of \(subject)")
    }
    var found: [TopicPartition: Int64] = [:]
    for entry in PartitionList.read(list.raw) {
      guard entry.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw KafkaError(entry.err, "cannot read the watermarks of \(entry.identity)")
      }
      found[entry.identity] = entry.offset
    }
    return partitions.map { found[$0] ?? 0 }
  }
}
