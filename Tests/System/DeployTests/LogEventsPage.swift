// SPDX-License-Identifier: Apache-2.0

/// `docs/reference/logs.md`, made from the sources.
enum LogEventsPage {
  private static let programs: [(room: String, title: String)] = [
    ("ServiceKit", "Every program"), ("Kafka", "Every program that uses Kafka"),
    ("API", "`martlet-api`"), ("Ingest", "`martlet-ingest`"), ("Signer", "`martlet-signer`"),
    ("Sender", "`martlet-sender`"),
    ("Feedback", "`martlet-feedback`"), ("GatewaySimulator", "`apns-simulator`"),
    ("WebhookDelivery", "`martlet-webhooks`"), ("Scheduler", "`martlet-scheduler`"),
    ("OperatorCommand", "`martlet`"), ("LabCommand", "`martlet-lab`"),
    ("ChaosSuite", "`martlet-chaos`"),
  ]

  /// Rooms with events that stand on no table.
  static func unlisted(_ events: LogEvents) -> Set<String> {
    Set(events.events.map(\.room)).subtracting(programs.map(\.room))
  }

  static func text(_ events: LogEvents) -> String {
    head
      + programs.map { room, title in list(title, events.events.filter { $0.room == room }) }
      .joined()
  }

  /// The errors and warnings of a program.
  private static func list(_ title: String, _ events: [LogEvents.Event]) -> String {
    let lines = ["error", "warning"].map { level in
      events.filter { $0.level == level }.map { "\(level): \(line($0))\n" }.joined()
    }.joined()
    return lines.isEmpty ? "" : "\n## \(title)\n\n```\n\(lines)```\n"
  }

  private static func line(_ event: LogEvents.Event) -> String {
    event.message == "…" ? "(the text of an error)" : event.message
  }

  private static let head = """
    # Log events

    Every program writes one line per event to standard error: time, level, program, message, then fields as `name=value`
    (`--log-format json` writes objects). The message is constant, so that you can search for it; the fields hold what
    varies. `…` marks the few parts that are only known at run time. Alert on [metrics](metrics.md), which name the event
    that goes with each. This page has the errors and warnings; events of the levels `info` and `debug` need no reaction.

    No line holds a provider token, a signing key, a password, a payload or a whole device token, at any level.

    `scripts/docs` writes this page from the sources.

    """
}
