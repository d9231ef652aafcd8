// SPDX-License-Identifier: Apache-2.0

public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
  case debug, info, warning, error

  public var text: String { "\(self)" }

  /// The level as systemd's journal reads it at the start of a line: `<3>` to `<7>` (sd-daemon(3)).
  public var journalPrefix: String {
    switch self {
    case .debug: "<7>"
    case .info: "<6>"
    case .warning: "<4>"
    case .error: "<3>"
    }
  }

  public init?(text: String) {
    guard let level = Self.allCases.first(where: { $0.text == text }) else { return nil }
    self = level
  }

  public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// The form of log lines.
public enum LogLine {
  /// A line in the form for people taken apart again; nil for what is no line of a Martlet program.
  public static func parts(
    _ line: some StringProtocol
  ) -> (level: LogLevel, service: String, message: String)? {
    let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard words.count == 4, let level = LogLevel(text: String(words[1])) else { return nil }
    return (level, String(words[2]), String(words[3]))
  }

  /// Values with blanks, quotes, `=` or control characters are quoted.
  static func quotedIfNeeded(_ value: String) -> String {
    let isPlain = value.unicodeScalars.allSatisfy { scalar in
      !TerminalText.isHarmful(scalar.value) && scalar != " " && scalar != "\"" && scalar != "="
        && scalar != "\\"
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
      case _ where TerminalText.isHarmful(scalar.value):
        quoted += "\\u{\(String(scalar.value, radix: 16))}"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
