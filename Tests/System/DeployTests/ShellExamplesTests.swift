// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// A reader who types what a page shows, in its order, reaches the pipeline that the page means: names are set before
/// they are used, programs are found, and no port is that of another pipeline.
@Suite struct ShellExamplesTests {
  private static let pages = [
    "README.md", "docs/api.md", "docs/migrating.md", "docs/operations.md", "docs/producing.md",
    "docs/scheduling.md", "docs/simulator.md", "docs/tokens.md",
  ]
  /// A file of `martlet up` that sets the names below, and the path of the programs.
  private static let shellFile = "martlet-up/env"
  private static let names = ["KAFKA", "API", "API_KEY"]

  /// What a page has before each of its commands, and the command: lines of shell blocks and indented ones.
  private static func commands(_ page: String) -> [(before: Substring, line: Substring)] {
    var commands: [(Substring, Substring)] = []
    var (isShell, isFenced) = (false, false)
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        (isShell, isFenced) = (line == "```sh", !isFenced)
      } else if isShell || !isFenced && line.hasPrefix("    ") {
        commands.append((page[..<line.startIndex], line.drop { $0 == " " }))
      }
    }
    return commands
  }

  @Test(arguments: pages)
  func `names of addresses are set before they are used`(page: String) throws {
    for (before, line) in Self.commands(try Repository.text(page)) {
      for name in Self.names {
        let uses = line.matches(of: #/\$\{?([A-Z_]+)/#).contains { $0.1 == name }
        guard uses else { continue }
        let isSet = before.contains(Self.shellFile) || before.contains("\n\(name)=")
        #expect(isSet, "\(page): $\(name) in \(line.prefix(80))")
      }
    }
  }

  @Test(arguments: pages)
  func `programs are found by the names that a page types`(page: String) throws {
    for (before, line) in Self.commands(try Repository.text(page))
    where line.hasPrefix("martlet") || line.hasPrefix("apns-simulator") {
      let isFound = before.contains(Self.shellFile) || before.contains("export PATH=")
      #expect(isFound, "\(page): \(line.prefix(80))")
    }
  }

  @Test(arguments: pages)
  func `no example names a port that may be another pipeline's`(page: String) throws {
    for (_, line) in Self.commands(try Repository.text(page)) {
      #expect(
        !line.contains("127.0.0.1:9092") && !line.contains("127.0.0.1:8080"),
        "\(page): \(line.prefix(80))")
    }
  }

  @Test(arguments: pages)
  func `a file of requests is made before it is read`(page: String) throws {
    for (before, line) in Self.commands(try Repository.text(page)) {
      guard let file = line.firstMatch(of: #/martlet import (\S+)/#)?.1 else { continue }
      #expect(before.contains("> \(file)"), "\(page): \(line)")
    }
  }
}
