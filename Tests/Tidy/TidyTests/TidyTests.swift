// SPDX-License-Identifier: Apache-2.0
import Testing

/// Rules of this repository that a machine can check.
@Suite struct TidyTests {
  private let repository = Repository()

  @Test func `the repository is found`() {
    let hasPackage = repository.exists("Package.swift")
    #expect(hasPackage)
    let count = repository.swiftPaths.count
    #expect(count > 100)
  }

  @Test func `the top level holds what the layout says and nothing else`() {
    let allowed: Set<String> = [
      "Package.swift", "Sources", "Tests", "deploy", "benchmarks", "docs", "scripts", ".ci",
      "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE",
      ".swift-format", ".editorconfig", ".gitignore", ".gitattributes",
    ]
    let present = Set(repository.paths.map { String($0.prefix { $0 != "/" }) })
    #expect(present.subtracting(allowed).isEmpty)
  }

  @Test func `every source lies in a target of one of the five rooms`() {
    let rooms: Set<Substring> = ["C", "Core", "IO", "Services", "Executables"]
    for path in repository.paths where path.hasPrefix("Sources/") {
      let parts = path.split(separator: "/")
      #expect(parts.count >= 4 && rooms.contains(parts[1]), "\(path)")
    }
    for path in repository.paths where path.hasPrefix("Tests/") {
      #expect(path.split(separator: "/").count >= 4, "\(path)")
    }
  }

  @Test func `C headers are included under Sources/C only`() {
    for path in repository.paths where path.hasSuffix(".h") || path.hasSuffix(".modulemap") {
      #expect(path.hasPrefix("Sources/C/") || path.hasPrefix("benchmarks/"), "\(path)")
    }
  }

  @Test func `no placeholder is left`() {
    let left = repository.paths.filter { $0.hasSuffix("Placeholder.swift") }
    #expect(left.isEmpty)
  }

  @Test func `every Swift file names its licence on its first line`() {
    for path in repository.swiftPaths where !path.hasSuffix("Package.swift") {
      let first = repository.lines(path).first
      if first != "// SPDX-License-Identifier: Apache-2.0" { Issue.record("\(path)") }
    }
  }

  @Test func `no file is longer than 600 lines, no function longer than 70`() {
    for path in repository.swiftPaths {
      let lines = repository.lines(path)
      #expect(lines.count <= SourceRules.fileLimit, "\(path)")
      for (line, count) in SourceRules.longFunctions(lines) {
        Issue.record("\(path):\(line): a function of \(count) lines")
      }
    }
  }

  @Test func `no banned word stands anywhere`() {
    for path in repository.textPaths {
      let text = repository.text(path)
      for (word, reason) in SourceRules.bannedWords where SourceRules.contains(text, word) {
        Issue.record("\(path) holds \(word): \(reason)")
      }
    }
  }

  @Test func `types are named for what they are`() {
    for path in repository.swiftPaths {
      for name in SourceRules.vagueTypes(repository.lines(path)) {
        Issue.record("\(path) declares \(name)")
      }
    }
  }

  @Test func `Core is values: no pointer, clock, output or other room`() {
    for path in repository.swiftPaths where path.hasPrefix("Sources/Core/") {
      for impurity in SourceRules.impurities(repository.lines(path)) {
        Issue.record("\(path) has \(impurity)")
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

  @Test func `relative links in documents lead to files`() {
    for path in repository.paths where path.hasSuffix(".md") {
      let folder = path.split(separator: "/").dropLast().map { "\($0)/" }.joined()
      for link in SourceRules.links(repository.text(path)) {
        if !repository.exists(folder + link) { Issue.record("\(path) links to \(link)") }
      }
    }
  }

  @Test func `lines of documents wrap at 120 characters`() {
    // Generated pages and the change log keep their own rules.
    for path in repository.paths where path.hasSuffix(".md") && path != "CHANGELOG.md" {
      for (line, count) in SourceRules.longDocumentLines(repository.lines(path)) {
        Issue.record("\(path):\(line): \(count) characters")
      }
    }
  }

  @Test func `documents avoid the phrases that readers stumble over`() {
    for path in repository.paths where path.hasSuffix(".md") && path != "CHANGELOG.md" {
      let text = repository.lines(path).joined(separator: " ")
      for (phrase, better) in SourceRules.bannedPhrases where SourceRules.contains(text, phrase) {
        Issue.record("\(path): \"\(phrase)\"; better: \(better)")
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

  @Test func `the README has at most 130 lines`() {
    let count = repository.lines("README.md").count
    #expect(count <= 131)
  }

  @Test func `scripts can be run`() {
    for path in ["scripts/setup", "scripts/test", "scripts/demo", "scripts/build", ".ci/run"] {
      let first = repository.lines(path).first
      #expect(first == "#!/usr/bin/env bash", "\(path)")
    }
  }
}
