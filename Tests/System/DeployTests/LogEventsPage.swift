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
      + programs.map { room, title in
        let own = events.events.filter { $0.room == room }
        return own.isEmpty
          ? "" : "\n## \(title)\n\n| level | message |\n| --- | --- |\n" + own.map(row).joined()
      }.joined()
  }

  private static func row(_ event: LogEvents.Event) -> String {
    let message = event.message == "…" ? "(the text of an error)" : event.message
    return "| \(event.level) | \(message.replacing("|", with: "\\|")) |\n"
  }

  private static let head = """
    # Log events

    Every program writes one line per event to standard error: time, level, program, message, then fields as `name=value`
    (`--log-format json` writes objects). The message is constant, so that you can search for it and alert on it; the
    fields hold what varies. In the tables, `…` marks the few parts that are only known at run time.

    No line holds a provider token, a signing key, a password, a payload or a whole device token, at any level.
    [metrics.md](metrics.md) names the event that goes with each metric.

    This page is made from the sources by `MARTLET_WRITE_DOCS=1 swift test --filter LogEventsPageTests`;
    `scripts/test` fails when it is out of date.

    """
}
