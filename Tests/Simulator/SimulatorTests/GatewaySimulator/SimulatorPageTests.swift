// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import GatewaySimulator
import Settings
import TestSupport
import Testing

/// The simulator's page says what the program does.
@Suite struct SimulatorPageTests {
  private let page: String

  init() throws { page = try Repository.text("docs/simulator.md") }

  @Test func `the page says what is asked of each push type`() {
    #expect(page.contains(PushTypeReport.text))
  }

  @Test func `every check is explained`() {
    for check in PushCheck.allCases { #expect(page.contains("| `\(check.rawValue)` |")) }
  }

  @Test func `every flag that the page names exists`() {
    let names = Set(SimulatorSettings.table.settings.map(\.name))
    let others: Set = [
      "client-certificates", "product", "cacert", "cert", "key", "key-id", "http2", "help",
      "config",
      // Of benchmarks/run, which measures it.
      "count", "rounds",
    ]
    let flags = page.matches(of: #/--([a-z][a-z0-9-]+)/#).map { String($0.1) }
    for flag in flags where !others.contains(flag) { #expect(names.contains(flag), "--\(flag)") }
  }
}
