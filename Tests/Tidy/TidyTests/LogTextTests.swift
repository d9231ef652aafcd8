// SPDX-License-Identifier: Apache-2.0
import Testing

/// A check that looks for a line of a log proves nothing once the line has other words.
@Suite struct LogTextTests {
  private let repository = Repository()

  private static func isLooking(_ path: String) -> Bool {
    path.hasPrefix("benchmarks/") || path.hasPrefix("Tests/Chaos/ChaosSuite/")
  }

  /// What the chaos suite and the benchmarks look for.
  private var wanted: [(path: String, text: String)] {
    repository.paths.filter(Self.isLooking).flatMap { path in
      let content = repository.text(path)
      let swift = content.matches(
        of: #/(?:occurrences|awaitLog)\(\s*(?:"[^"]*"|[^,()"]+(?:\[[^\]]*\])?),\s*"([^"]+)"/#)
      let python =
        path.hasSuffix("measurements.py")
        ? content.matches(of: #/(?m)^[A-Z_]+, [A-Z_]+ = "([^"]+)", "([^"]+)"$/#) : []
      return swift.map { (path, String($0.1)) }
        + python.flatMap { [(path, String($0.1)), (path, String($0.2))] }
    }
  }

  @Test func `every log line that rules and scripts look for is logged by a program`() {
    let sources = repository.swiftPaths
      .filter { $0.hasPrefix("Sources/") && !Self.isLooking($0) }.map(repository.text)
    let wanted = wanted
    #expect(wanted.count >= 10, "\(wanted)")
    for (path, text) in wanted where !sources.contains(where: { $0.contains("\"\(text)") }) {
      Issue.record("\(path) looks for \"\(text)\", which no program logs")
    }
  }
}
