// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records
import ServiceKit

/// Named group members whose coordinator is not available.
extension Scenario {
  static let namedMembers = Scenario(
    name: "named-members",
    summary:
      "two of three brokers are down for 30 s, and no coordinator works: sessions of named members run out",
    need: .embeddedBroker, senders: 1, brokers: 3, namesMembers: true, hasStragglers: true,
    bound: DuplicateBound(seconds: 1, reason: "answers that came while nothing could be committed")
  ) { rig in
    for turn in rig.turns(min(2, rig.options.kills)) {
      try rig.pump(between: 500, and: 1_500)
      rig.compareOffsets()
      let mark = rig.mark()
      rig.countFault("two of three brokers down")
      for broker in [2, 3] as [Int64] {
        try rig.broker("PUT", "/brokers", ["broker": .integer(broker), "up": false])
      }
      try stopCoordinators(rig)
      try rig.pump(30_000)
      try startCoordinators(rig)
      for broker in [2, 3] as [Int64] {
        try rig.broker("PUT", "/brokers", ["broker": .integer(broker), "up": true])
      }
      try rig.awaitRecovery(of: mark)
      for name in ["ingest", "sender-1"] {
        if rig.occurrences(name, ServiceKitLog.rejoining) <= turn {
          rig.problem("\(name) did not join its group again")
        }
      }
    }
  }

  private static let groupRequests = ["find_coordinator", "heartbeat", "offset_commit"]

  /// The remaining broker has no quorum: its coordinators respond that they are not available.
  private static func stopCoordinators(_ rig: ChaosRig) throws {
    for group in ReaderGroup.allCases {
      try rig.broker(
        "PUT", "/coordinators",
        ["group": .string(rig.place.names.group(group)), "broker": .integer(1)])
    }
    let errors = JSONValue.array(
      Array(repeating: .string("coordinator_not_available"), count: 20_000))
    for request in groupRequests {
      try rig.broker("POST", "/errors", ["request": .string(request), "errors": errors])
    }
  }

  /// Makes the coordinators available. The first commits are the delayed ones, without a member id: they are fenced.
  private static func startCoordinators(_ rig: ChaosRig) throws {
    for request in groupRequests {
      try rig.broker("PUT", "/errors/clear", ["request": .string(request)])
    }
    try rig.broker(
      "POST", "/errors",
      ["request": "offset_commit", "errors": .array([.string("fenced_instance")])])
  }
}
