// SPDX-License-Identifier: Apache-2.0
import Testing

/// Rules of this repository that a machine can check.
@Suite struct TidyTests {
  private let repository = Repository()

  @Test func `the repository is found`() {
    let hasPackage = repository.exists("Package.swift")
    #expect(hasPackage)
    #expect(!repository.swiftPaths.isEmpty)
  }

  @Test func `every source and test lies in a target`() throws {
    let targets = try Manifest.targets().map { "\($0.path)/" }
    for path in repository.swiftPaths where path != "Package.swift" {
      #expect(targets.contains(where: path.hasPrefix), "\(path)")
    }
  }

  @Test func `C is in the platform and for simdjson`() {
    let rooms = ["Sources/Platform/C/", "Sources/Contract/CSimdjson/"]
    let endings = [".h", ".c", ".hpp", ".cpp", ".modulemap"]
    for path in repository.paths where path.hasPrefix("Sources/") {
      let isC = endings.contains(where: path.hasSuffix)
      #expect(isC == rooms.contains(where: path.hasPrefix), "\(path)")
    }
  }

  @Test func `every Swift file names its licence on its first line`() {
    for path in repository.swiftPaths where !path.hasSuffix("Package.swift") {
      let first = repository.lines(path).first
      if first != "// SPDX-License-Identifier: Apache-2.0" { Issue.record("\(path)") }
    }
  }

  @Test func `no file has a banned word`() {
    for path in repository.textPaths {
      let text = repository.text(path)
      for (word, reason) in SourceRules.bannedWords where SourceRules.contains(text, word) {
        Issue.record("\(path) holds \(word): \(reason)")
      }
    }
  }

  /// No compiler reads the scripts and pages in which a merge may have left them.
  @Test func `no file has a merge's marks`() {
    for path in repository.textPaths {
      for (index, line) in repository.lines(path).enumerated()
      where line.hasPrefix("<<<<<<< ") || line.hasPrefix(">>>>>>> ") {
        Issue.record("\(path):\(index + 1) has two versions: \(line)")
      }
    }
  }

  @Test func `services write through the harness, not with print`() {
    for path in repository.swiftPaths where path.hasPrefix("Sources/") {
      for line in repository.lines(path) {
        let code = line.drop { $0 == " " }
        #expect(!code.hasPrefix("print("), "\(path): \(code)")
      }
    }
  }

  /// What anyone may have written is bounded where it is read, so that nothing behind overflows.
  @Test func `no number of JSON is read without its bounds`() throws {
    // What is handed on and not calculated with.
    let free = ["Sources/Contract/Records/JSON/", "Sources/API/API/Compatibility/GoObject.swift"]
    // What has no JSON.
    let values = try Manifest.targets().filter(\.isValue).map { "\($0.path)/" }
    for path in repository.swiftPaths
    where path.hasPrefix("Sources/") && !path.hasPrefix("Sources/Simulator/")
      && !path.hasPrefix("Sources/Demo/")
    {
      guard !(free + values).contains(where: path.hasPrefix) else { continue }
      for (index, line) in repository.lines(path).enumerated()
      where SourceRules.readsAnyInteger(line) {
        Issue.record("\(path):\(index + 1) reads a number of any size: use int(_:) with a range")
      }
    }
  }

  /// Lanes and retry topics are lists: who names one of them works with that list alone.
  @Test func `no lane and no retry topic is named outside of its table`() {
    let tables = [
      "Sources/Contract/Contract/Lanes.swift", "Sources/Contract/Contract/RetryTier.swift",
    ]
    for path in repository.swiftPaths
    where path.hasPrefix("Sources/") && !path.hasPrefix("Sources/Simulator/") {
      guard !tables.contains(where: path.hasPrefix) else { continue }
      for (index, line) in repository.lines(path).enumerated()
      where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        for name in SourceRules.namesOfLists where SourceRules.contains(String(line), name) {
          Issue.record("\(path):\(index + 1) names \(name)")
        }
      }
    }
  }

  @Test func `relative links in documents lead to files`() {
    for path in repository.paths where path.hasSuffix(".md") {
      let folder = path.split(separator: "/").dropLast().map { "\($0)/" }.joined()
      for link in SourceRules.links(repository.text(path)) {
        if !repository.exists(folder + link) { Issue.record("\(path) links to \(link)") }
      }
    }
  }

  @Test func `lines of documents wrap at 120 characters`() {
    for path in repository.paths where path.hasSuffix(".md") {
      for (line, count) in SourceRules.longDocumentLines(repository.lines(path)) {
        Issue.record("\(path):\(line): \(count) characters")
      }
    }
  }

  @Test func `the index lists every page of docs`() {
    let index = Set(SourceRules.links(repository.text("docs/README.md")))
    for path in repository.paths where path.hasPrefix("docs/") && path.hasSuffix(".md") {
      let name = String(path.dropFirst("docs/".count))
      guard name != "README.md", !name.contains("/") else { continue }
      #expect(index.contains(name), "\(path)")
    }
    let decisions = Set(SourceRules.links(repository.text("docs/decisions/README.md")))
    for path in repository.paths where path.hasPrefix("docs/decisions/0") {
      #expect(decisions.contains(String(path.dropFirst("docs/decisions/".count))), "\(path)")
    }
  }

  @Test func `every page of a decision has a status with its date`() {
    let status =
      #/\n\n\*\*Status\.\*\* (Accepted|Proposed|Rejected|Superseded by \d{3}), \d{4}-\d\d-\d\d/#
    let pages = repository.paths.filter { $0.hasPrefix("docs/decisions/0") }
    #expect(!pages.isEmpty)
    for path in pages { #expect(repository.text(path).contains(status), "\(path)") }
  }

  /// What nobody can read in a review is made by a script, or lies elsewhere.
  @Test func `no file is large or binary, but for the fuzzers' inputs`() {
    // OpenAPI's programs take the whole API as one document.
    let whole = "docs/openapi.json"
    for path in repository.paths where !path.hasPrefix("Tests/Fuzz/Corpus/") {
      let text = repository.text(path)
      #expect(
        text.utf8.count <= SourceRules.sizeLimit || path == whole,
        "\(path): \(text.utf8.count) bytes")
      #expect(SourceRules.isText(text), "\(path) holds bytes that are no text")
    }
  }

  @Test func `scripts can be run`() {
    for path in [
      "scripts/setup", "scripts/test", "scripts/demo", "scripts/build", "scripts/release",
      "scripts/hardening", "scripts/previous-build", ".ci/run",
    ] {
      let first = repository.lines(path).first
      #expect(first == "#!/usr/bin/env bash", "\(path)")
      #expect(repository.runs(path), "\(path)")
    }
  }

  /// Scripts run where no compiler looks, and some of their lines only on a fresh machine.
  @Test func `paths that scripts and documents name are in the tree`() {
    var count = 0
    for path in repository.paths
    where path.hasPrefix("scripts/") || path.hasPrefix("deploy/") || path.hasSuffix(".md") {
      for place in SourceRules.namedPaths(repository.text(path)) {
        count += 1
        #expect(repository.holds(place), "\(path) names \(place)")
      }
    }
    #expect(count > 50)
  }

  @Test func `the table of changes names files that exist and hold what it says`() throws {
    let text = repository.text("ARCHITECTURE.md")
    let heading = "## Where to change what"
    let section = try #require(text.section(after: heading))
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| a ") }
    #expect(!rows.isEmpty)
    for row in rows {
      let places = row.matches(of: #/`([A-Za-z]+\/[^`]+)`((?: \(`[^)]+`\))?)/#)
      #expect(!places.isEmpty, "\(row)")
      for place in places {
        let path = String(place.1)
        #expect(repository.exists(path), "\(path)")
        let names = place.2.matches(of: #/`([^`]+)`/#).map { String($0.1) }
        let content = repository.text(path)
        for name in names { #expect(content.contains(name), "\(path): \(name)") }
      }
    }
  }
}

extension String {
  /// What follows a line, up to the next heading of the same level; nil if the line is not there.
  fileprivate func section(after heading: String) -> Substring? {
    guard let start = firstRange(of: heading) else { return nil }
    let rest = self[start.upperBound...]
    return rest.firstRange(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
  }
}
