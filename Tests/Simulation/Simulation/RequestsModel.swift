// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// A request of an application: one notification for each of its devices.
struct Request {
  /// Its notifications stand in a row.
  var first: Int
  var devices: [UInt64]
  var app: UInt64
  var lane: Lane
  var created: Int64
  var expiresAt: Int64
  /// Its notifications have a key: of each device the newest one wins, unless it is the last state.
  var isKeyed = false
  var isFinal = false
  /// What a newer one that has it not must not take away.
  var urgency = Urgency()
  /// Ingest cannot read it: it becomes a dead letter.
  var isBad: Bool
  /// The number of its campaign.
  var campaign: Int?
  /// It has a time.
  var schedule: Schedule?

  struct Schedule {
    /// Its number in the schedule.
    let work: Int
    let sendAt: Int64
    /// When this record was written, by the writer's clock.
    var written: Int64
    /// What the scheduler knows of it; nil if it has not released it.
    var released: (accepted: Int64, requeuedAt: Int64?)?
  }
}

/// The topic of requests.
struct RequestsModel {
  private(set) var partitions: [[Request]] = [[], [], []]
  private var verified = [0, 0, 0]
  /// Offsets of requests that the schedule has.
  private var handedOver: [Set<Int64>] = [[], [], []]

  func end(_ partition: Int) -> Int64 { Int64(partitions[partition].count) }

  mutating func append(_ request: Request, to partition: Int) {
    partitions[partition].append(request)
  }

  mutating func grow() {
    partitions.append([])
    verified.append(0)
    handedOver.append([])
  }

  /// The schedule has a request.
  mutating func handOver(_ partition: Int, _ offset: Int64) { handedOver[partition].insert(offset) }

  /// A request may be committed when all its notifications are stored, or what became of them instead.
  mutating func verify(_ partition: Int, _ offset: Int64, _ kafka: inout KafkaModel) {
    guard offset <= end(partition) else {
      return kafka.fail("ingest committed offset \(offset) of requests, which is no record")
    }
    while verified[partition] < Int(offset) {
      let request = partitions[partition][verified[partition]]
      let isHandedOver = handedOver[partition].contains(Int64(verified[partition]))
      for notification in request.first..<request.first + request.devices.count where !isHandedOver
      {
        let one = kafka.notifications[notification]
        guard one.firstLog != nil || one.hasAny else {
          return kafka.fail(
            "request \(verified[partition]) of partition \(partition) was committed without notification \(notification)"
          )
        }
      }
      verified[partition] += 1
    }
  }
}
