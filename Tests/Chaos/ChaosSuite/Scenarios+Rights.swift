// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records
import ServiceKit

/// Rights on Kafka that are revoked while everything is running.
extension Scenario {
  static let rightsFaults = [
    Scenario(
      name: "rights-lost",
      summary:
        "the user of the programs may not see a topic until one of them has named it, another topic each time",
      need: .embeddedBroker, hasStragglers: true,
      bound: DuplicateBound(
        seconds: 0.5, reason: "a group whose topic goes and comes back rebalances")
    ) { rig in
      let topics = used(rig.place.names).shuffled(using: &rig.random)
      for turn in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 1_500)
        rig.compareOffsets()
        let topic = topics[turn % topics.count]
        let before = reports(of: topic, rig)
        rig.countFault("\(topic) may not be seen")
        try rig.broker(
          "PUT", "/topics", ["topic": .string(topic), "error": "topic_not_authorized"])
        let isNamed = try rig.pump(
          until: { reports(of: topic, rig) > before }, within: namedWithinMilliseconds)
        if !isNamed { rig.problem("no program says that it may not see \(topic)") }
        let mark = rig.mark()
        try rig.broker("PUT", "/topics", ["topic": .string(topic)])
        try rig.awaitRecovery(of: mark)
      }
    }
  ]

  /// Two checks of a program, and some time to respond.
  private static let namedWithinMilliseconds: UInt64 = 30_000

  /// Topics without which a part of the pipeline stops or lacks information.
  private static func used(_ names: TopicNames) -> [String] {
    names.notifications + [
      names.requests, names.receipts, names.feedback, names.invalidTokens, names.providerTokens,
      names.tokenRequests, names.deadLetters, names.controls,
    ]
  }

  private static func reports(of topic: String, _ rig: ChaosRig) -> Int {
    rig.pipeline.processes.states.map(\.name).reduce(0) { sum, name in
      sum
        + rig.logText(name).split(separator: "\n").count {
          $0.contains(ServiceKitLog.rightMissing.rawValue) && $0.contains("topic \(topic)")
        }
    }
  }
}
