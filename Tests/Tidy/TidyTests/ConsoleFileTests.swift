// SPDX-License-Identifier: Apache-2.0
import Testing

/// What no compiler says of the console's page.
@Suite struct ConsoleFileTests {
  private let repository = Repository()
  private static let folder = "Sources/Operator/ConsoleFiles"

  private func text(_ name: String) -> String { repository.text("\(Self.folder)/\(name)") }

  @Test func `the page loads its style and its script, and nothing from another host`() {
    let loaded = text("console.html").matches(of: #/(?:src|href)="([^"]*)"/#).map { String($0.1) }
    #expect(loaded == ["data:,", "console.css", "console.js"])
    for name in ["console.html", "console.css", "console.js"] {
      for word in ["://", "url(", "@import"] { #expect(!text(name).contains(word), "\(name)") }
    }
  }

  @Test func `each element that the script looks for is in the page`() {
    let ids = Set(text("console.html").matches(of: #/ id="([^"]+)"/#).map { String($0.1) })
    let wanted = text("console.js").matches(of: #/\$\('([^']+)'\)/#).map { String($0.1) }
    #expect(!wanted.isEmpty)
    for id in wanted { #expect(ids.contains(id), "\(id)") }
  }

  @Test func `node reads the script, where there is node`() {
    let command = "! command -v node >/dev/null || node --check \(Self.folder)/console.js 2>&1"
    let said = repository.output(of: command)
    #expect(said.isEmpty, "\(said)")
  }
}
