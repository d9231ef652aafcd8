// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

@Suite struct HelpTextTests {
  private let help = HelpText(
    program: "martlet-sender", summary: "Sends notifications.", table: sampleTable)

  @Test func `help shows every setting with its default and meaning`() {
    let text = help.text(width: 80)
    for setting in sampleTable.settings {
      #expect(text.contains("  --\(setting.name)"))
      #expect(text.contains(setting.documentation))
    }
    #expect(text.contains("Default: 30s."))
    #expect(text.contains("--profile faithful | quick"))
    #expect(text.contains("-V, --version"))
    #expect(text.hasPrefix("Usage: martlet-sender [--setting value …]\n"))
  }

  @Test(arguments: [40, 64, 80, 132])
  func `help is as wide as the terminal, apart from words that are wider`(width: Int) {
    let lines = help.text(width: width).split(separator: "\n")
    for line in lines where line.count > width {
      #expect(line.split(separator: " ").count == 1, "\(line)")
    }
    #expect(lines.contains { $0.count > width - 12 })
  }

  @Test func `a paragraph keeps every word`() {
    let words = (1...50).map { String(repeating: "x", count: $0 % 9 + 1) }
    for width in [1, 8, 20, 400] {
      let lines = Paragraph.wrap(words.joined(separator: " "), indent: 2, hanging: 4, width: width)
      #expect(lines.joined(separator: " ").split(separator: " ").map(String.init) == words)
      #expect(lines[0].hasPrefix("  x") && lines.dropFirst().allSatisfy { $0.hasPrefix("    x") })
    }
  }

  @Test func `operands stand in the usage line`() {
    let table = SettingTable([], operands: .init("FILE", 1...1, "NDJSON."))
    let help = HelpText(program: "martlet import", summary: "Imports.", table: table)
    #expect(help.text(width: 80).hasPrefix("Usage: martlet import [--setting value …] FILE\n"))
  }

  @Test func `variables are named after their settings`() {
    #expect(sampleTable["drain-timeout"]?.environmentName == "MARTLET_DRAIN_TIMEOUT")
  }
}
