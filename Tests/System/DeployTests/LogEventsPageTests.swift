// SPDX-License-Identifier: Apache-2.0
import Telemetry
import TestSupport
import Testing

/// The list of log events, and the page that is made from it. Who searches logs relies on every message.
@Suite struct LogEventsPageTests {
  private let messages = LogEventsPage.programs.flatMap { $0.events.map { $0.rawValue } }

  @Test func `the page in docs is what the programs declare`() throws {
    try DeployedFiles.expectPage("logs.md", LogEventsPage.text)
  }

  @Test func `the page has every table of the sources`() throws {
    let found = try BuiltProgram.run(
      "/usr/bin/grep",
      ["-rhE", "enum [A-Za-z]+: String, LogTable", "\(Repository.root)/Sources"],
      in: TemporaryFolder())
    #expect(
      found.output.split(separator: "\n").count == LogEventsPage.programs.count, "\(found.output)")
  }

  /// A message is one line of plain text and no whole sentence.
  @Test func `messages are plain text`() {
    #expect(messages.count > 200)
    for message in messages {
      #expect(!message.contains("\\"), "\(message)")
      #expect(!message.contains("\n"), "\(message)")
      #expect(!message.hasSuffix("."), "\(message)")
    }
  }

  /// What stands in backticks right after the word: `the log: …`, `programs log …`.
  @Test(arguments: ["docs/runbook.md", "docs/operations.md", "docs/kafka.md", "SECURITY.md"])
  func `a document quotes what a program logs, or the beginning of it`(path: String) throws {
    let text = try Repository.text(path)
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
      .map { $0.split { $0 == " " || $0 == "\n" }.joined(separator: " ") }
    let quotes = zip(pieces, pieces.dropFirst()).filter { before, _ in
      [" log", " logs", " log:"].contains { before.hasSuffix($0) }
    }.map { $0.1 }
    #expect(!quotes.isEmpty)
    for quote in quotes { #expect(messages.contains { $0.hasPrefix(quote) }, "\(quote)") }
  }
}
