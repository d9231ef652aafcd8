// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What a changed list of credentials takes away.
@Suite struct AppCoverageTests {
  private typealias Entry = (apps: [String], scope: ProviderTokenBook.Scope, team: String?)

  private func coverage(_ entries: [Entry]) -> AppCoverage {
    var coverage = AppCoverage()
    for entry in entries { coverage.add(entry.apps, entry.scope, team: entry.team) }
    return coverage
  }

  @Test func `an app that nobody serves any more is lost, in the environments that nobody serves`()
  {
    let before = coverage([(["a", "b"], .any, nil), (["c"], .sandbox, nil)])
    let table: [(entries: [Entry], lost: [String])] = [
      ([(["a", "b"], .any, nil), (["c"], .sandbox, nil)], []),
      ([(["a"], .any, nil), (["b", "c"], .any, nil)], []),
      ([(["a"], .any, nil), (["c"], .sandbox, nil)], ["b"]),
      (
        [(["a"], .production, nil), (["b"], .any, nil), (["c"], .production, nil)],
        ["a in sandbox", "c"]
      ),
      ([(["*"], .any, nil)], []),
      ([(["*"], .production, nil)], ["a in sandbox", "b in sandbox", "c"]),
      ([], ["a", "b", "c"]),
    ]
    for (entries, lost) in table { #expect(before.lost(in: coverage(entries)) == lost) }
    #expect(coverage([]).lost(in: before).isEmpty)
  }

  @Test func `every other app is lost with its star`() {
    let before = coverage([(["*"], .any, nil)])
    #expect(before.lost(in: coverage([(["a"], .any, nil)])) == ["every other app (\"*\")"])
  }

  @Test func `an app that goes to another team is not lost, but said`() {
    let before = coverage([(["a", "b"], .any, "TEAM1"), (["c"], .any, nil)])
    let after = coverage([(["a"], .any, "TEAM2"), (["b"], .any, nil), (["c"], .any, "TEAM1")])
    #expect(before.lost(in: after).isEmpty)
    #expect(before.moved(in: after) == ["a"])
    #expect(before.moved(in: before).isEmpty)
  }
}
