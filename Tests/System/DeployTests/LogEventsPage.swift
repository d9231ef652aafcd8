// SPDX-License-Identifier: Apache-2.0
import API
import Feedback
import GatewaySimulator
import Ingest
import LabCommand
import OperatorCommand
import Scheduler
import SenderDecisions
import ServiceKit
import Signer
import Telemetry
import WebhookDelivery

/// `docs/reference/logs.md`, made from the tables of log events.
enum LogEventsPage {
  static let programs: [(title: String, events: [any LogTable])] = [
    ("Every program", all(ServiceKitLog.self)),
    ("`martlet-api`", all(APILog.self)),
    ("`martlet-ingest`", all(IngestLog.self)),
    ("`martlet-signer`", all(SignerLog.self)),
    ("`martlet-sender`", all(SenderLog.self)),
    ("`martlet-feedback`", all(FeedbackLog.self)),
    ("`apns-simulator`", all(SimulatorLog.self)),
    ("`martlet-webhooks`", all(WebhooksLog.self)),
    ("`martlet-scheduler`", all(SchedulerLog.self)),
    ("`martlet`", all(OperatorLog.self)),
    ("`martlet-lab`", all(LabLog.self)),
  ]

  static var text: String { head + programs.map { list($0.title, $0.events) }.joined() }

  private static func all<Table: LogTable>(_ table: Table.Type) -> [any LogTable] {
    table.allCases.map { $0 }
  }

  /// The errors and warnings of a program.
  private static func list(_ title: String, _ events: [any LogTable]) -> String {
    let levels: [LogLevel] = [.error, .warning]
    let lines = levels.map { level in
      events.filter { $0.level == level }.map { "\(level.text): \($0.rawValue)\n" }.joined()
    }.joined()
    return "\n## \(title)\n\n```\n\(lines)```\n"
  }

  private static let head = """
    # Log events

    Every program writes one line per event to standard error: time, level, program, message, then fields as `name=value`
    (`--log-format json` writes objects). The message is constant, so that you can search for it; the fields hold what
    varies. Two kinds of lines have other words: the last one of a program that ends with a failure says what went wrong,
    and lines of the program `kafka` are librdkafka's own. Alert on [metrics](metrics.md), which name the event that goes
    with each. This page has the errors and warnings; events of the levels `info` and `debug` need no reaction.

    No line holds a provider token, a signing key, a password, a payload or a whole device token, at any level.

    `scripts/docs` writes this page from the programs' tables.

    """
}
