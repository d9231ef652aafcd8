// SPDX-License-Identifier: Apache-2.0

/// What a program says about itself.
package struct HelpText: Sendable {
  /// As it is typed: `martlet-sender`, `martlet import`.
  package let program: String
  /// One or two sentences.
  package let summary: String
  package let table: SettingTable

  package init(program: String, summary: String, table: SettingTable) {
    self.program = program
    self.summary = summary
    self.table = table
  }

  /// The text of `--help`, at most 100 columns wide.
  package var text: String {
    var lines = ["Usage: \(usage)", ""]
    lines += Self.wrap(summary, indent: 0)
    if let operands = table.operands {
      lines += ["", "  \(operands.placeholder)"]
      lines += Self.wrap(operands.documentation, indent: 6)
    }
    lines += ["", "Settings:"]
    for setting in table.settings { lines += Self.lines(of: setting) }
    if table.takesKafkaProperties { lines += Self.kafkaLines }
    lines += Self.commonLines
    return lines.joined(separator: "\n") + "\n"
  }

  /// The settings as rows of a Markdown table: name, default, meaning.
  package var markdownRows: [String] {
    table.settings.map { setting in
      let value = setting.defaultText.map { "`\($0)`" } ?? (setting.isRequired ? "required" : "–")
      return "| `--\(setting.name)` | \(value) | \(setting.documentation) |"
    }
  }

  private var usage: String {
    let operands = table.operands.map { rule in
      rule.count.lowerBound == 0 ? " [\(rule.placeholder)]" : " \(rule.placeholder)"
    }
    return "\(program) [--setting value …]\(operands ?? "")"
  }

  private static func lines(of setting: Setting) -> [String] {
    let isBoolean = setting.kind == .boolean
    var value = setting.placeholder.isEmpty ? "" : " \(setting.placeholder)"
    var note = ""
    if setting.isRequired { note = " Required." }
    if isBoolean {
      if setting.defaultText == "true" { value = "=false" }
    } else if let text = setting.defaultText {
      // A default that ends with a dot must not look as if it had two.
      note = " Default: \(text.hasSuffix(".") ? "\"\(text)\"" : text)."
    }
    return ["  --\(setting.name)\(value)"] + wrap(setting.documentation + note, indent: 6)
  }

  private static let kafkaLines =
    ["  --kafka.<property> VALUE"]
    + wrap(
      "Any librdkafka property, passed through; --kafka.consumer.<property> and"
        + " --kafka.producer.<property> reach one side only.", indent: 6)

  private static let commonLines =
    [
      "  --config FILE", "      Properties file: lines of the form name = value.",
      "  --check-config", "      Check the settings, print them and exit.",
      "  --version, --help", "",
    ]
    + wrap(
      "A flag wins over its environment variable (--drain-timeout is MARTLET_DRAIN_TIMEOUT), the"
        + " environment over the file (--config or MARTLET_CONFIG), the file over the default."
        + " Exit status: 0 done, 1 failed, 2 wrong configuration.", indent: 0)

  /// Breaks a paragraph at blanks so that no line is longer than 96 columns.
  static func wrap(_ paragraph: String, indent: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = margin
    for word in paragraph.split(separator: " ") {
      if line.count + word.count + 1 > 96, line.count > indent {
        lines.append(line)
        line = margin
      }
      line += (line.count > indent ? " " : "") + word
    }
    return lines + [line]
  }
}
