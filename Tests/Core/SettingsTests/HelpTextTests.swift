// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

@Suite struct HelpTextTests {
  private let help = HelpText(
    program: "martlet-sender", summary: "Sends notifications.", table: sampleTable)

  @Test func `help shows every setting with its default and meaning`() {
    for setting in sampleTable.settings {
      #expect(help.text.contains("  --\(setting.name)"))
      #expect(help.text.contains(setting.documentation))
    }
    #expect(help.text.contains("Default: 30s."))
    #expect(help.text.contains("--profile faithful|quick"))
    #expect(help.text.hasPrefix("Usage: martlet-sender [--setting value …]\n"))
  }

  @Test func `help is at most 100 columns wide`() {
    for line in help.text.split(separator: "\n") { #expect(line.count <= 100) }
  }

  @Test func `the Markdown table has one row a setting`() {
    #expect(help.markdownRows.count == sampleTable.settings.count)
    #expect(help.markdownRows[1] == "| `--loops` | `1` | Threads. |")
  }

  @Test func `operands stand in the usage line`() {
    let table = SettingTable([], operands: .init("FILE", 1...1, "NDJSON."))
    let help = HelpText(program: "martlet import", summary: "Imports.", table: table)
    #expect(help.text.hasPrefix("Usage: martlet import [--setting value …] FILE\n"))
  }

  @Test func `variables are named after their settings`() {
    #expect(sampleTable["drain-timeout"]?.environmentName == "MARTLET_DRAIN_TIMEOUT")
  }
}
