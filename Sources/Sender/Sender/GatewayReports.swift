// SPDX-License-Identifier: Apache-2.0
import SenderDecisions
import Telemetry

/// What a thousand pools may have to tell at once: it is logged twice a minute for each gateway and error, with how many
/// were left out, and so is that it has ended.
struct GatewayReports {
  private var repeated = RepeatedMessages()

  /// The fields of a line; nil if it is left out.
  mutating func admit(
    _ event: SenderLog, of gateway: String, error: String, _ fields: [LogEvent.Field], now: UInt64
  ) -> [LogEvent.Field]? {
    let text = [event.rawValue, gateway, error].filter { !$0.isEmpty }.joined(separator: ": ")
    guard let more = repeated.admit(text, now: now) else { return nil }
    var fields = fields
    if !error.isEmpty { fields.append(("error", .text(error))) }
    if more > 0 { fields.append(("left_out", .number(more))) }
    return fields
  }

  /// The fields of a line for each error that has ended since the last call and was left out since it was logged last.
  mutating func drainEnded(now: UInt64) -> [[LogEvent.Field]] {
    repeated.drainEnded(now: now).filter { $0.more > 0 }.map {
      [("error", .text($0.text)), ("left_out", .number($0.more))]
    }
  }
}
