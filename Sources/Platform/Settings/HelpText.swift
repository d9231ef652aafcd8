// SPDX-License-Identifier: Apache-2.0

public struct HelpText: Sendable {
  /// As it is typed: `martlet-sender`, `martlet import`.
  public let program: String
  /// One or two sentences.
  public let summary: String
  public let table: SettingTable

  public init(program: String, summary: String, table: SettingTable) {
    self.program = program
    self.summary = summary
    self.table = table
  }

  /// The text of `--help`.
  ///
  /// - Parameter width: columns of a line at most; a word that is longer stands alone.
  public func text(width: Int) -> String {
    let wrap = { Paragraph.wrap($0, indent: $1, width: width) }
    var lines = Paragraph.wrap("Usage: \(usage)", indent: 0, hanging: 4, width: width) + [""]
    lines += wrap(summary, 0)
    if let operands = table.operands {
      lines += ["", "  \(operands.placeholder)"] + wrap(operands.documentation, 6)
    }
    lines += ["", "Settings:"]
    for setting in table.settings {
      let (name, documentation) = Self.entry(of: setting)
      lines += Paragraph.wrap(name, indent: 2, hanging: 6, width: width) + wrap(documentation, 6)
    }
    if table.takesKafkaProperties {
      lines += ["  --kafka.<property> VALUE"] + wrap(Self.kafkaText, 6)
    }
    lines += ["  --config FILE"] + wrap("Properties file: lines of the form name = value.", 6)
    lines += ["  --check-config"]
    lines += wrap(
      "Check the settings, with the files that they name, print them and exit. Connects to nothing.",
      6)
    lines += ["  --check"]
    lines += wrap(
      "Check the settings and what they lead to (keys, certificates, Kafka, gateways, as far as the program uses"
        + " them), print what was found with the remedy and exit. Changes nothing; status 1 with an error.",
      6)
    lines += ["  -V, --version", "  -h, --help", ""] + wrap(Self.orderText, 0)
    return lines.joined(separator: "\n") + "\n"
  }

  private var usage: String {
    let operands = table.operands.map { rule in
      rule.count.lowerBound == 0 ? " [\(rule.placeholder)]" : " \(rule.placeholder)"
    }
    return "\(program) [--setting value …]\(operands ?? "")"
  }

  private static func entry(of setting: Setting) -> (name: String, documentation: String) {
    let isBoolean = setting.kind == .boolean
    var value = setting.placeholder.isEmpty ? "" : " \(setting.placeholder)"
    if case .choice(let words) = setting.kind, setting.placeholder == words.joined(separator: "|") {
      // So that a long list can be broken.
      value = " " + words.joined(separator: " | ")
    }
    var note = ""
    if setting.isRequired { note = " Required." }
    if isBoolean {
      if setting.defaultText == "true" { value = "=false" }
    } else if let text = setting.defaultText {
      // A default that ends with a dot must not look as if it had two.
      note = " Default: \(text.hasSuffix(".") ? "\"\(text)\"" : text)."
    }
    return ("--\(setting.name)\(value)", setting.documentation + note)
  }

  private static let kafkaText =
    "Any librdkafka property, passed through; --kafka.consumer.<property> and"
    + " --kafka.producer.<property> reach one side only."

  private static let orderText =
    "A flag wins over its environment variable (--drain-timeout is MARTLET_DRAIN_TIMEOUT), the"
    + " environment over the file (--config or MARTLET_CONFIG), the file over the default."
    + " Exit status: 0 done, 1 failed, 2 wrong configuration."
}
