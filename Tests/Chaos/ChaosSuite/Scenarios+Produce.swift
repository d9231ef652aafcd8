// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records

/// Transient produce errors that clients treat as permanent.
extension Scenario {
  static let refusedProduces = [
    Scenario(
      name: "produce-refused",
      summary:
        "for 3 s produce requests of ingest, senders and feedback are answered with a violated policy, a missing"
        + " right or an unknown topic (and the receipts' topic is not found), while answers of the gateway come in",
      need: .embeddedBroker,
      bound: DuplicateBound(seconds: 3, reason: "a receipt that Kafka refused leaves its push open")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { turn in
        // Responses are delayed so long that all of them meet the errors.
        try rig.addGatewayFaults([["id": "added_latency", "profile": "constant", "time": "2s"]])
        try rig.pump(1_500)
        // The load is not part of the pipeline: its own requests must not be rejected.
        rig.load.isPaused = true
        let isQuiet = try rig.pump(until: { rig.load.isSettled }, within: 60_000)
        if !isQuiet { rig.problem("Kafka did not answer for the load's requests within 60 s") }
        let error = errors[turn % errors.count]
        rig.countFault("produce: \(error)")
        let receipts = JSONValue.string(rig.place.names.receipts)
        // Producers ask for a topic's metadata again when they learn that it is missing.
        let isAway = error == "unknown_topic_or_partition"
        if isAway {
          try rig.broker("PUT", "/topics", ["topic": receipts, "error": .string(error)])
        }
        let answers = [JSONValue](repeating: .string(error), count: 200)
        try rig.broker("POST", "/errors", ["request": "produce", "errors": .array(answers)])
        try rig.pump(3_000)
        try rig.broker("PUT", "/errors/clear", ["request": "produce"])
        if isAway { try rig.broker("PUT", "/topics", ["topic": receipts]) }
        try rig.clearGatewayFaults()
        rig.load.isPaused = false
      }
    }
  ]

  /// Transient produce errors that librdkafka does not retry by itself.
  private static let errors = [
    "policy_violation", "unknown_topic_or_partition", "topic_not_authorized",
  ]
}
