// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import SenderDecisions
import ServiceKit

/// Logs what librdkafka's statistics say of partitions that Kafka does not deliver, if the operator asked for
/// statistics (`statistics.interval.ms`). Owned by the control thread.
struct StatisticsWatch {
  private var stalls: FetchStallWatch
  private let parser = JSONParser()
  private let log: Logger

  init(_ log: Logger, patience: UInt64 = FetchStallWatch.patience) {
    self.log = log
    stalls = FetchStallWatch(patience: patience)
  }

  /// Takes the newest reading, if there is one.
  ///
  /// - Parameter now: monotonic milliseconds.
  /// - Returns: what was logged.
  @discardableResult
  mutating func note(_ text: String?, now: UInt64) -> [FetchStallWatch.Stall] {
    guard let text, let root = try? parser.parse(text) else { return [] }
    let found = stalls.observe(KafkaStatistics(root), now: now)
    for stall in found { report(stall) }
    return found
  }

  private func report(_ stall: FetchStallWatch.Stall) {
    let (partition, broker) = (stall.partition, stall.broker)
    log(
      SenderLog.partitionNotDelivered,
      [
        "partition": "\(partition.topic)/\(partition.number)", "seconds": "\(stall.seconds)",
        "offset": "\(partition.nextOffset)", "lag": "\(partition.lag)",
        "fetch_state": partition.fetchState, "broker": broker?.name ?? "none",
        "broker_state": broker?.state ?? "unknown",
        "round_trip_microseconds": "\(broker?.roundTrip ?? 0)",
        "requests_to_send": "\(broker?.toSend ?? 0)",
        "requests_unanswered": "\(broker?.unanswered ?? 0)",
        "request_timeouts": "\(broker?.timeouts ?? 0)", "errors": "\(broker?.errors ?? 0)",
      ])
  }
}

extension KafkaStatistics {
  /// Counts and numbers of brokers and partitions.
  private static let counts: ClosedRange<Int64> = 0...Int64(Int32.max)

  /// Reads what librdkafka writes; what is missing counts as nothing.
  init(_ root: JSONValue) {
    self.init(partitions: [], brokers: [])
    for member in root["brokers"]?.object?.members ?? [] {
      let broker = member.value
      // Bootstrap addresses have an id below zero; a group's coordinator stands there a second time, as logical.
      guard let id = broker["nodeid"]?.int(Self.counts), broker["source"]?.string != "logical"
      else {
        continue
      }
      func number(_ name: String) -> Int { Int(broker[name]?.int(Self.counts) ?? 0) }
      brokers.append(
        Broker(
          id: Int(id), name: broker["nodename"]?.string ?? "",
          state: broker["state"]?.string ?? "",
          roundTrip: Int(broker["rtt"]?["avg"]?.int(Self.counts) ?? 0),
          toSend: number("outbuf_cnt"), unanswered: number("waitresp_cnt"),
          timeouts: number("req_timeouts"), errors: number("rxerrs") + number("txerrs")))
    }
    for topic in root["topics"]?.object?.members ?? [] {
      for member in topic.value["partitions"]?.object?.members ?? [] {
        let partition = member.value
        // -1 stands for what belongs to no partition; others are not fetched here.
        guard let number = partition["partition"]?.int(Self.counts),
          let state = partition["fetch_state"]?.string, state != "none"
        else { continue }
        partitions.append(
          Partition(
            topic: topic.key, number: Int(number),
            leader: Int(partition["leader"]?.int(Self.counts) ?? -1),
            fetchState: state, nextOffset: partition["next_offset"]?.int(0...(.max / 2)) ?? -1,
            waiting: Int(partition["fetchq_cnt"]?.int(Self.counts) ?? 0),
            lag: partition["consumer_lag"]?.int(0...(.max / 2)) ?? -1))
      }
    }
  }
}
