// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Telemetry

/// Formats a trace for people, and as JSON for programs, without device tokens.
enum TraceText {
  static func lines(_ stories: [TraceStory]) -> [String] {
    var lines: [String] = []
    for story in stories {
      if !lines.isEmpty { lines.append("") }
      lines.append(title(story))
      if let trace = story.traceParent {
        lines.append("  traceparent \(TerminalText.plain(trace))")
      }
      let width = story.hops.map { $0.kind.rawValue.count }.max() ?? 0
      for index in story.hops.indices {
        let hop = story.hops[index]
        let gap = story.gap(before: index).map(duration) ?? ""
        lines.append(
          "  \(Timestamp.text(milliseconds: hop.at))  \(StatusText.padded(gap, 10))  "
            + "\(StatusText.padded(hop.kind.rawValue, width))  \(TerminalText.plain(hop.detail))  [\(hop.place)]"
        )
      }
    }
    return lines
  }

  private static func title(_ story: TraceStory) -> String {
    guard let id = story.apnsID else {
      if story.hops.allSatisfy(\.isOfDevice) { return "the device" }
      if story.hops.allSatisfy({ $0.isOfDevice || $0.isNameless }) {
        return "requests without an id, which their notifications do not name"
      }
      if let due = story.due {
        return "not yet a notification: scheduled for \(Timestamp.text(milliseconds: due))"
      }
      // Refused requests never become notifications.
      if story.hops.contains(where: { $0.kind == .deadLettered }) {
        return "no notification: a dead letter"
      }
      return story.outcome.map { "no notification: \($0)" } ?? "not yet a notification"
    }
    guard let end = story.end, let outcome = end.outcome, let first = story.hops.first else {
      return "\(id): no outcome yet"
    }
    return "\(id): \(outcome) after \(duration(end.at - first.at).dropFirst())"
  }

  /// One object per hop.
  static func json(_ story: TraceStory) -> [String] {
    story.hops.indices.map { index in
      let hop = story.hops[index]
      var object = JSONObject()
      if let id = story.apnsID { object.append("apns_id", .string(id)) }
      if let id = hop.requestID { object.append("id", .string(id.text)) }
      object.append("hop", .string(hop.kind.rawValue))
      object.append("at", .integer(hop.at))
      if let gap = story.gap(before: index) { object.append("gap_milliseconds", .integer(gap)) }
      object.append("place", .string(hop.place))
      if let outcome = hop.outcome { object.append("outcome", .string(outcome)) }
      if let due = hop.due { object.append("due", .integer(due)) }
      if let trace = hop.traceParent { object.append("traceparent", .string(trace)) }
      object.append("detail", .string(hop.detail))
      return TerminalText.json(String(decoding: JSONValue.object(object).text, as: UTF8.self))
    }
  }

  /// A duration such as `+12 ms`, `+5.2 s` or `-3 ms`: the clocks of two machines may differ.
  static func duration(_ milliseconds: Int64) -> String {
    let sign = milliseconds < 0 ? "-" : "+"
    return sign + StatusText.duration(Double(milliseconds.magnitude) / 1_000)
  }
}
