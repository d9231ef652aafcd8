// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Settings

@Suite struct CompletionTests {
  private let completion = Completion([
    .init(name: "up", summary: "Runs everything. For trying.", table: sampleTable),
    .init(
      name: "letters list", summary: "Lists them.",
      table: SettingTable([.init("kind", .choice(["dead", "live"]), "Which.")])),
    .init(
      name: "letters read", summary: "Reads one.",
      table: SettingTable([], operands: .init("FILE", 1...1, "It."))),
  ])

  /// The words that may come next; nil for a file.
  private func next(_ words: String...) -> [String]? {
    guard case .words(let candidates) = completion.answer(words) else { return nil }
    return candidates.map(\.text)
  }

  @Test func `commands are completed word by word`() {
    #expect(next("") == ["up", "letters", "--help", "--version"])
    #expect(next("le") == ["letters"])
    #expect(next("letters", "") == ["list", "read", "--help", "--version"])
    #expect(next("letters", "r") == ["read"])
    #expect(next("nothing", "") == ["--help", "--version"])
    #expect(next() == [])
  }

  @Test func `settings are completed, with what they mean`() {
    #expect(next("up", "--p") == ["--profile", "--password"])
    #expect(next("up", "--no-") == ["--no-verify"])
    #expect(next("up", "--check") == ["--check-config", "--check"])
    #expect(next("letters", "list", "--loops") == [])
    #expect(completion.answer(["up", "--lo"]) == .words([.init(text: "--loops", note: "Threads")]))
    #expect(completion.answer(["u"]) == .words([.init(text: "up", note: "Runs everything")]))
  }

  @Test func `settings' values are completed, too`() {
    #expect(next("up", "--profile", "") == ["faithful", "quick"])
    #expect(next("up", "--profile", "f") == ["faithful"])
    #expect(next("letters", "list", "--kind", "l") == ["live"])
    #expect(next("up", "--loops", "") == [])
    #expect(next("up", "--roots", "x") == nil)
    #expect(next("up", "--config", "") == nil)
    // A value that looks like a flag is a value, and what follows it is none.
    #expect(next("up", "--loops", "--profile", "q") == [])
    #expect(next("up", "--fast", "--profile", "q") == ["quick"])
    #expect(next("up", "--loops=2", "--profile", "q") == ["quick"])
  }

  @Test func `an operand is a file`() {
    #expect(next("letters", "read", "") == nil)
    #expect(next("letters", "read", "--h") == ["--help"])
    #expect(
      next("letters", "list", "") == [
        "--kind", "--help", "--version", "--check-config", "--check",
        "--config",
      ])
  }
}
