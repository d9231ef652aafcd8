// SPDX-License-Identifier: Apache-2.0
import Contract
import Glibc
import LabCommand
import Records
import Waiting

/// Brokers that stop, lose leadership, or return errors; groups that never become stable.
extension Scenario {
  static let kafkaFaults = [
    Scenario(
      name: "broker-outage", summary: "the broker is down for 1 to 4 s, then up with its records",
      need: .embeddedBroker, hasStragglers: true, isShort: true, bound: outageBound
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 2_000)
        rig.compareOffsets()
        rig.countFault("broker down")
        try rig.broker("PUT", "/brokers", ["up": false])
        try rig.pump(between: 1_000, and: 4_000)
        let mark = rig.mark()
        try rig.broker("PUT", "/brokers", ["up": true])
        try rig.pump(between: 200, and: 1_000)
        rig.compareOffsets()
        try rig.awaitRecovery(of: mark)
      }
    },
    Scenario(
      name: "broker-moves", summary: "leaders and coordinators move among three brokers",
      need: .embeddedBroker, brokers: 3, hasStragglers: true, bound: outageBound
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { _ in
        rig.countFault("leaders and coordinators move")
        try move(rig)
        try rig.pump(between: 200, and: 1_000)
        rig.compareOffsets()
      }
    },
    Scenario(
      name: "broker-errors", summary: "bursts of errors in answers to every kind of request",
      need: .embeddedBroker, hasStragglers: true, bound: outageBound
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { _ in
        rig.countFault("errors")
        try injectErrors(rig)
        try rig.pump(between: 500, and: 1_500)
        for (request, _) in brokerErrors {
          try rig.broker("PUT", "/errors/clear", ["request": .string(request)])
        }
        rig.compareOffsets()
      }
    },
    Scenario(
      name: "rebalance-storm", summary: "senders join and leave as fast as the group forms",
      sessionMilliseconds: longSession, hasStragglers: true, isShort: true,
      bound: DuplicateBound(
        seconds: 0, reason: "a member commits what it completed before it gives up partitions")
    ) { rig in
      for turn in rig.turns(rig.options.kills) {
        let name = "storm-\(turn + 1)"
        let mark = rig.mark()
        rig.countFault("\(name) joins and leaves")
        try rig.pipeline.startSender(name)
        try rig.awaitPartitions(of: name)
        try rig.pump(between: 0, and: 500)
        rig.compareOffsets()
        try rig.stopForGood(name)
        rig.compareOffsets()
        if turn % 4 == 3 { try rig.awaitRecovery(of: mark) }
      }
    },
  ]

  private static let outageBound = DuplicateBound(
    seconds: 1, reason: "what could not be committed if a partition moves meanwhile")

  /// Moves every topic's leader and every group's coordinator to a random broker.
  static func move(_ rig: ChaosRig) throws {
    for topic in rig.place.names.all {
      for partition in 0..<topic.partitions {
        let broker = 1 + Int64(rig.random.next() % 3)
        try rig.broker(
          "PUT", "/leaders",
          [
            "topic": .string(topic.name), "partition": .integer(Int64(partition)),
            "broker": .integer(broker),
          ])
      }
    }
    for group in ReaderGroup.allCases {
      let broker = 1 + Int64(rig.random.next() % 3)
      try rig.broker(
        "PUT", "/coordinators",
        ["group": .string(rig.place.names.group(group)), "broker": .integer(broker)])
    }
  }

  /// Errors that a healthy cluster returns occasionally, by request.
  static let brokerErrors: [(request: String, errors: [String])] = [
    (
      "produce",
      [
        "disconnect", "request_timed_out", "not_leader", "not_enough_replicas",
        "unknown_topic_or_partition", "topic_not_authorized", "policy_violation",
      ]
    ),
    ("fetch", ["disconnect", "not_leader"]),
    ("metadata", ["disconnect"]),
    ("offset_commit", ["disconnect", "rebalance_in_progress", "not_coordinator"]),
    ("offset_fetch", ["disconnect", "not_coordinator"]),
    ("find_coordinator", ["disconnect", "coordinator_not_available"]),
    ("join_group", ["disconnect", "not_coordinator"]),
    ("heartbeat", ["disconnect", "rebalance_in_progress", "not_coordinator"]),
    ("sync_group", ["disconnect", "rebalance_in_progress"]),
  ]

  static func injectErrors(_ rig: ChaosRig) throws {
    for (request, errors) in brokerErrors {
      let burst = (0..<1 + rig.random.next() % 4).map { _ in
        JSONValue.string(rig.random.pick(errors))
      }
      try rig.broker(
        "POST", "/errors", ["request": .string(request), "errors": .array(Array(burst))])
    }
  }
}
