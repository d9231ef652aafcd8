// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Store
import TestSupport
import Testing

/// The commands with which an operator decides about waves of invalid tokens, on databases of both kinds.
@Suite struct WaveCommandTests {
  private let folder = TemporaryFolder()

  private func martlet(_ words: String...) throws -> (status: Int32, output: String) {
    try BuiltProgram.run(ChildProcess.sibling("martlet"), ["tokens"] + words, in: folder)
  }

  private func fill(_ location: String) throws {
    let now = WallClock.milliseconds()
    let store = try TokenStore(location, now: now)
    try store.transaction { () throws(StoreError) in
      for (app, environment) in [
        ("com.example.one", Environment.production), ("com.example.two", .sandbox),
      ] {
        try store.put(app, environment, BadTokenWave(from: now - 60_000, until: now - 1_000))
      }
    }
  }

  private func verdicts(_ location: String) throws -> [String] {
    let (status, output) = try martlet("waves", "--database", location, "--json")
    #expect(status == 0, "\(output)")
    return output.split(separator: "\n").compactMap { line in
      line.firstMatch(of: #/"app":"([^"]*)".*"verdict":"([a-z]*)"/#).map { "\($0.1) \($0.2)" }
    }.sorted()
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an operator lists waves, releases those of one app and rejects another's`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    try fill(location)
    #expect(try verdicts(location) == ["com.example.one undecided", "com.example.two undecided"])
    let words = try martlet(
      "waves", "--release", "--database", location, "--app", "com.example.one", "--yes")
    #expect(words.status == 0 && words.output.contains("released 1 wave of com.example.one"))
    #expect(words.output.contains("deed=\"tokens release\""), "\(words.output)")
    // Production is what is meant unless another environment is named.
    let none = try martlet(
      "waves", "--reject", "--database", location, "--app", "com.example.two", "--yes")
    #expect(none.status == 1 && none.output.contains("no undecided wave"), "\(none.output)")
    let rejected = try martlet(
      "waves", "--reject", "--database", location, "--app", "com.example.two", "--environment",
      "sandbox", "--yes")
    #expect(rejected.status == 0, "\(rejected.output)")
    #expect(try verdicts(location) == ["com.example.one released", "com.example.two rejected"])
    let again = try martlet(
      "waves", "--release", "--database", location, "--app", "com.example.one", "--yes")
    #expect(again.status == 1, "\(again.output)")
    let unnamed = try martlet("waves", "--release", "--database", location, "--yes")
    #expect(unnamed.status == 2 && unnamed.output.contains("app: is required"))
  }

  @Test func `a mistyped path makes no database, and nobody is asked without a terminal`() throws {
    let missing = folder.file("nowhere.db")
    let (status, output) = try martlet("waves", "--database", missing)
    #expect(status == 1 && output.contains("nowhere.db"), "\(output)")
    #expect(access(missing, F_OK) != 0)
    let database = folder.file("tokens.db")
    try fill(database)
    let unasked = try martlet(
      "waves", "--release", "--database", database, "--app", "com.example.one")
    #expect(unasked.status != 0, "\(unasked.output)")
    #expect(try verdicts(database).allSatisfy { $0.hasSuffix("undecided") })
  }
}
