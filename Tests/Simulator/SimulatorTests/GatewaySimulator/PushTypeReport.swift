// SPDX-License-Identifier: Apache-2.0
import Contract

@testable import GatewaySimulator

/// The rules of each push type as text, for the simulator's documentation.
enum PushTypeReport {
  /// The table as Markdown, one row per push type.
  static var text: String {
    var lines = [
      "| `apns-push-type` | topic | priorities | without a priority | certificate | largest body |",
      "|---|---|---|---|---|---|",
    ]
    for type in PushType.allCases {
      let suffix = type.topicSuffix.description
      let topic = suffix.isEmpty ? type == .mdm ? "the certificate's UID" : "APP" : "APP`\(suffix)`"
      let priorities = [10, 5, 1].filter { type.allows(priority: $0) }.map { "\($0)" }
      let isTaken = type.allows(priority: PushValidator.assumedPriority)
      let certificate = PushValidator.isForTokensOnly(type) ? "InvalidPushType" : "yes"
      lines.append(
        "| `\(type)` | \(topic) | \(priorities.joined(separator: ", "))"
          + " | \(isTaken ? "\(PushValidator.assumedPriority)" : "BadPriority") | \(certificate)"
          + " | \(type.payloadLimit) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
