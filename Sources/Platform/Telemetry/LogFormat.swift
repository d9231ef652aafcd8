// SPDX-License-Identifier: Apache-2.0

public enum LogFormat: String, Sendable, CaseIterable {
  /// `2026-11-21T01:09:44.123Z info martlet-sender connected peer=127.0.0.1:2197`, for people.
  case text
  /// `time=2026-11-21T01:09:44.123Z level=info service=martlet-sender msg=connected peer=127.0.0.1:2197`.
  case logfmt
  /// One JSON object (RFC 8259) per line: `time`, `level`, `service`, `msg`, and a member for each field.
  case json
}

public enum LogValue: Sendable, Equatable {
  case text(String)
  case number(Int)
  /// A number that grows, and its growth per second as people read it; other programs work that out themselves.
  case total(Int, perSecond: String)
}

public struct LogEvent: Sendable {
  public typealias Field = (name: String, value: LogValue)

  /// Since the UNIX epoch.
  public var milliseconds: Int64
  public var level: LogLevel
  public var service: String
  /// A short clause, the same for every event of its kind.
  public var message: String
  public var fields: [Field]

  public init(
    milliseconds: Int64, level: LogLevel, service: String, message: String, fields: [Field] = []
  ) {
    self.milliseconds = milliseconds
    self.level = level
    self.service = service
    self.message = message
    self.fields = fields
  }

  /// The most bytes of UTF-8 that a line quotes of one text. Keys of records, headers and answers of others may have
  /// any length.
  public static let longestText = 1_000

  /// The line without its end. It holds no control character, and nothing that would turn it around.
  ///
  /// - Parameter isForJournal: it becomes a line of systemd's journal: the level comes first as the journal reads it
  ///   (sd-daemon(3)), and the time, which the journal has itself, only where programs read the line.
  public func line(_ format: LogFormat, isForJournal: Bool = false) -> String {
    let priority = isForJournal ? level.journalPrefix : ""
    let event = cut
    switch format {
    case .text: return priority + event.textLine(hasTime: !isForJournal)
    case .logfmt: return priority + event.logfmtLine
    case .json: return priority + event.jsonLine
    }
  }

  /// The event without what is too long to quote.
  private var cut: LogEvent {
    var event = self
    event.message = Self.cut(message)
    for index in fields.indices {
      guard case .text(let text) = fields[index].value else { continue }
      event.fields[index].value = .text(Self.cut(text))
    }
    return event
  }

  private static func cut(_ text: String) -> String {
    let length = text.utf8.count
    guard length > longestText else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: longestText)
    // Not in the middle of a scalar.
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return "\(text[..<end])… (\(length) bytes)"
  }

  private func textLine(hasTime: Bool) -> String {
    let time = hasTime ? Timestamp.text(milliseconds: milliseconds) + " " : ""
    var line = "\(time)\(level.text) \(service) "
    for scalar in message.unicodeScalars {
      line.unicodeScalars.append(TerminalText.isHarmful(scalar.value) ? " " : scalar)
    }
    for (name, value) in fields { line += " \(name)=\(Self.forPeople(value))" }
    return line
  }

  private static func forPeople(_ value: LogValue) -> String {
    switch value {
    case .text(let text): LogLine.quotedIfNeeded(text)
    case .number(let number): "\(number)"
    case .total(let number, let perSecond): "\(number)(+\(perSecond)/s)"
    }
  }

  private var logfmtLine: String {
    var line = "time=\(Timestamp.text(milliseconds: milliseconds)) level=\(level.text)"
    line += " service=\(LogLine.quotedIfNeeded(service)) msg=\(LogLine.quotedIfNeeded(message))"
    for (name, value) in fields {
      line += " \(Self.own(name))="
      switch value {
      case .text(let text): line += LogLine.quotedIfNeeded(text)
      case .number(let number), .total(let number, _): line += "\(number)"
      }
    }
    return line
  }

  private var jsonLine: String {
    var line = #"{"time":"\#(Timestamp.text(milliseconds: milliseconds))","level":"\#(level.text)""#
    line += #","service":\#(Self.quoted(service)),"msg":\#(Self.quoted(message))"#
    for (name, value) in fields {
      line += ",\(Self.quoted(Self.own(name))):"
      switch value {
      case .text(let text): line += Self.quoted(text)
      case .number(let number), .total(let number, _): line += "\(number)"
      }
    }
    return line + "}"
  }

  /// A field's name where every field stands beside the event's own four.
  private static func own(_ name: String) -> String {
    ["time", "level", "service", "msg"].contains(name) ? name + "_" : name
  }

  private static func quoted(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
    }
    return "\"\(TerminalText.json(escaped))\""
  }
}
