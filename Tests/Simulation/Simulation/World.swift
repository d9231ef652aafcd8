// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

/// A device of an app: what tokens are registered and invalid for.
struct DeviceOfApp: Hashable, Comparable {
  var app: UInt64
  var device: UInt64

  static func < (left: Self, right: Self) -> Bool {
    (left.app, left.device) < (right.app, right.device)
  }
}

/// An app in trouble: its answers, or how much is to be sent for it.
struct SickApp {
  enum Trouble: CaseIterable {
    /// The gateway never answers.
    case hangs
    /// Every push is refused for its app.
    case refused
    /// Thousands of requests come at once.
    case floods
  }

  let app: UInt64
  let trouble: Trouble
}

/// What a run is about. What is rare among all that may go wrong needs runs of its own.
enum Theme {
  case everything
  /// Provider tokens: many are asked for, hours go by, and signers' clocks are ahead.
  case tokens
  /// Logs that are made again, cut and grow, while the group is rebalanced.
  case logs
  /// Device tokens: apps are removed and come back, while feedback is killed, stands still and is rebalanced.
  case devices

  init(seed: UInt64) {
    switch seed % 8 {
    case 5: self = .tokens
    case 6: self = .logs
    case 7: self = .devices
    default: self = .everything
    }
  }
}

/// All that is outside of the processes, and the time.
struct World {
  /// Monotonic milliseconds, and milliseconds since the epoch.
  var now = start
  static let start: UInt64 = 1_000_000
  var wall: Int64 { Int64(now) + Self.epoch }
  static let epoch: Int64 = 1_760_000_000_000

  var chance: SeededGenerator
  /// The same for which requests have a key, so that the rest of a run stays as it was without them.
  var keys: SeededGenerator
  let hasKeys: Bool
  /// The same for whose devices are.
  var owners: SeededGenerator
  var kafka = KafkaModel()
  var groups = [
    GroupModel(.signer, partitions: 1), GroupModel(.ingest, partitions: 3),
    GroupModel(.sender, partitions: KafkaModel.topicKinds.count),
    GroupModel(.feedback, partitions: 4),
    GroupModel(.scheduler, partitions: ScheduleModel.partitions),
  ]
  var requests = RequestsModel()
  var tokens: TokenTopicModel
  var devices = DeviceTopicsModel()
  var schedule: ScheduleModel
  var mood = GatewayMood()
  /// Devices that APNs throttles now.
  var throttled: Set<UInt64> = []
  /// Devices without the app, by since when (milliseconds since the epoch).
  var unregistered: [DeviceOfApp: Int64] = [:]
  /// Devices that are registered again, and when APNs knows: until then it answers as before.
  var revivals: [(key: DeviceOfApp, at: UInt64)] = []
  /// The gateway's addresses.
  let addresses: [PeerAddress]
  /// Since when everything works; nil until then.
  var calmSince: UInt64?
  var isCalm: Bool { calmSince != nil }
  /// What goes wrong in this run.
  let theme: Theme
  /// One app is in trouble, now and then, and nothing else is: no other app may be affected.
  var sick: SickApp?
  /// No push goes faster than these.
  var paces: PaceModel
  /// Since when every answer of the gateway is 503.
  var unavailableSince: UInt64?

  init(seed: UInt64, apps: [[String]], lanes: Lanes) {
    paces = PaceModel(seed: seed, lanes: lanes)
    schedule = ScheduleModel(seed: seed)
    theme = Theme(seed: seed)
    chance = SeededGenerator(seed: seed)
    keys = SeededGenerator(seed: ~seed)
    owners = SeededGenerator(seed: seed &* 3 &+ 1)
    hasKeys = theme != .logs || seed / 8 % 2 == 0
    tokens = TokenTopicModel(apps: apps)
    addresses = (1...3).map { PeerAddress(bytes: [10, 0, 0, $0], port: 443)! }
  }

  subscript(_ kind: GroupModel.Kind) -> GroupModel {
    get { groups[kind.rawValue] }
    set { groups[kind.rawValue] = newValue }
  }

  /// Where the log of a group's partition begins and ends.
  func ends(_ kind: GroupModel.Kind, _ partition: Int) -> (low: Int64, high: Int64) {
    switch kind {
    case .ingest: (0, requests.end(partition))
    case .signer: (0, Int64(tokens.requests.count))
    case .feedback: (0, devices.end(partition))
    case .sender: (kafka[partition].low, kafka[partition].end)
    case .scheduler: (0, schedule.end(partition))
    }
  }

  /// A group's coordinator takes a commit: all below must be done.
  ///
  /// - Parameter logs: which log each partition's offset is of, for senders.
  mutating func commit(_ kind: GroupModel.Kind, _ plans: [PlannedCommit<Int>], _ logs: [Int: Int]) {
    for plan in plans.sorted(by: { $0.partition < $1.partition }) {
      let (partition, offset) = (plan.partition, plan.offset)
      if kind == .sender {
        if let log = logs[partition] { kafka.commit(plan, log: log) }
        continue
      }
      kafka.note("\(kind) \(partition): committed \(offset)")
      self[kind].committed[partition] = offset
      switch kind {
      case .ingest: requests.verify(partition, offset, &kafka)
      case .feedback: devices.verify(partition, offset, &kafka)
      case .scheduler: schedule.verify(partition, offset, &kafka)
      case .signer, .sender: break
      }
    }
  }
}
