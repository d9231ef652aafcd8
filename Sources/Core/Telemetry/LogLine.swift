// SPDX-License-Identifier: Apache-2.0

/// How much a log line matters.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
  case debug, info, warning, error

  package var text: String {
    switch self {
    case .debug: "debug"
    case .info: "info"
    case .warning: "warning"
    case .error: "error"
    }
  }

  package init?(text: String) {
    guard let level = Self.allCases.first(where: { $0.text == text }) else { return nil }
    self = level
  }

  package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// One line of a log: `2026-11-21T01:09:44.123Z info martlet-sender connected peer=127.0.0.1:2197`.
package enum LogLine {
  /// - Parameters:
  ///   - milliseconds: Since the UNIX epoch.
  ///   - message: A short clause; control characters, and what would turn the line around, become blanks.
  ///   - fields: Values with blanks, quotes, `=` or control characters are quoted.
  package static func text(
    milliseconds: Int64, level: LogLevel, service: String, message: String,
    fields: KeyValuePairs<String, String> = [:]
  ) -> String {
    var line = "\(Timestamp.text(milliseconds: milliseconds)) \(level.text) \(service) "
    for scalar in message.unicodeScalars {
      line.unicodeScalars.append(isControl(scalar) ? " " : scalar)
    }
    for (name, value) in fields { line += " \(name)=\(quotedIfNeeded(value))" }
    return line
  }

  /// The message of a service that does its part.
  package static let ready = "ready"

  /// A line taken apart again; nil for what is no line of a Martlet program.
  package static func parts(
    _ line: some StringProtocol
  ) -> (level: LogLevel, service: String, message: String)? {
    let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard words.count == 4, let level = LogLevel(text: String(words[1])) else { return nil }
    return (level, String(words[2]), String(words[3]))
  }

  static func quotedIfNeeded(_ value: String) -> String {
    let isPlain = value.unicodeScalars.allSatisfy { scalar in
      !isControl(scalar) && scalar != " " && scalar != "\"" && scalar != "=" && scalar != "\\"
    }
    if isPlain, !value.isEmpty { return value }
    var quoted = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where isControl(scalar): quoted += "\\u{\(String(scalar.value, radix: 16))}"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    TerminalText.isHarmful(scalar.value)
  }
}

/// A device token as logs show it: its first eight digits.
package enum ShortToken {
  package static func text(_ token: String) -> String {
    token.count <= 8 ? token : "\(token.prefix(8))…"
  }
}
