// SPDX-License-Identifier: Apache-2.0
import Delivery
import Kafka
import Pipeline

/// How far the senders are behind on the two lanes of an embedded broker, which drops what it has no room
/// for: while it is much, nothing further is written. Real clusters need none of this.
///
/// Owner: the ingest loop.
final class LaneBacklog {
  private struct LaneState {
    var gate: BacklogGate
    let partitions: [TopicPartition]
  }

  /// How often the readers' offsets are asked for while the backlog is worth it, in milliseconds.
  private static let interval: UInt64 = 50
  /// Less than this needs no asking, in bytes a partition.
  private static let harmless = BacklogGate.embeddedCapacity / 4

  private let admin: KafkaAdmin
  private var lanes: [LaneState] = []
  private var nextLook: UInt64 = 0

  init(_ configuration: KafkaConfiguration, _ names: TopicNames) throws(KafkaError) {
    admin = try KafkaAdmin(configuration)
    let counts = try admin.partitionCounts(timeoutMilliseconds: 10_000)
    for lane in Lane.allCases {
      let topic = names.notifications(lane)
      let partitions = (0..<Int32(counts[topic] ?? 0)).map {
        TopicPartition(topic: topic, partition: $0)
      }
      lanes.append(
        LaneState(gate: BacklogGate(partitions: partitions.count), partitions: partitions))
    }
  }

  /// Whether notifications may be written to any partition of any lane.
  private(set) var isOpen = true

  func acknowledged(_ lane: Lane, partition: Int32, offset: Int64, bytes: Int) {
    // The broker does not say where a record is that it had already taken.
    guard offset >= 0, Int(partition) < lanes[Int(lane.rawValue)].partitions.count else { return }
    lanes[Int(lane.rawValue)].gate.acknowledged(Int(partition), offset: offset, bytes: bytes)
    if isOpen { isOpen = lanes[Int(lane.rawValue)].gate.isOpen }
  }

  /// Asks how far the senders have got, if it is time and the backlog is worth it.
  func look(_ now: UInt64) {
    guard now >= nextLook else { return }
    nextLook = now + Self.interval
    for index in lanes.indices where isWorthLooking(lanes[index]) {
      // No answer now: the gate stays as it is, and the next look is soon.
      guard
        let offsets = try? admin.groupOffsets(
          ReaderGroup.sender, lanes[index].partitions, timeoutMilliseconds: 500)
      else { continue }
      for entry in offsets {
        guard let offset = entry.offset else { continue }
        lanes[index].gate.committed(Int(entry.partition.partition), offset: offset)
      }
    }
    isOpen = lanes.allSatisfy { $0.gate.isOpen }
  }

  private func isWorthLooking(_ lane: LaneState) -> Bool {
    lane.partitions.indices.contains { lane.gate.unreadBytes($0) > Self.harmless }
  }

  func close() { admin.close() }
}
