// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit
import TestSupport
import Testing

/// The number of the release stands in `Version.text`; what else names it follows.
@Suite struct VersionTests {
  /// Documents and the files of deploy/, relative to the root, but for the changelog, which names all versions.
  private static func paths() throws -> [String] {
    let found = try BuiltProgram.run(
      "/bin/sh",
      [
        "-c",
        "cd '\(Repository.root)' && find deploy docs -type f && find . -maxdepth 1 -name '*.md' -printf '%P\\n'",
      ], in: TemporaryFolder())
    return found.output.split(separator: "\n").map(String.init).filter { $0 != "CHANGELOG.md" }
  }

  @Test func `images and packages have the version of the programs wherever they are named`() throws
  {
    let name = #/martlet[:_](?:VERSION|(?<number>[0-9]+\.[0-9]+\.[0-9]+))/#
    var places: [String: Int] = [:]
    for path in try Self.paths() {
      for match in try Repository.text(path).matches(of: name) {
        guard let number = match.output.number else { continue }
        #expect(number == Version.text, "\(path): \(match.output.0)")
        places[path, default: 0] += 1
      }
    }
    for path in ["deploy/docker/Dockerfile", "deploy/docker/compose.yaml", "docs/install.md"] {
      #expect(places[path] != nil, "\(path) names no version")
    }
  }

  @Test
  func `the changelog's newest release, and the page of supported versions, are this one`() throws {
    let changelog = try Repository.text("CHANGELOG.md")
    let newest = changelog.firstMatch(of: #/(?m)^## ([0-9]+\.[0-9]+\.[0-9]+)( |$)/#)
    #expect(newest.map { String($0.1) } == Version.text)
    let minor = Version.text.split(separator: ".").prefix(2).joined(separator: ".")
    #expect(try Repository.text("SECURITY.md").contains("the newest minor version (\(minor))"))
  }

  @Test func `every program says its version, commit and libraries`() throws {
    for name in ConfigurationPage.programs.map(\.name) + [
      "apns-simulator", "martlet", "martlet-lab",
    ] {
      let run = try BuiltProgram.run(
        ChildProcess.sibling(name), ["--version"], in: TemporaryFolder())
      #expect(run.status == 0)
      let lines = run.output.split(separator: "\n")
      try #require(lines.count == 3, "\(run.output)")
      // martlet-lab answers in martlet's name, as its commands do.
      #expect(lines[0] == "\(name == "martlet-lab" ? "martlet" : name) \(Version.text)")
      #expect(lines[1] == "commit unknown")
      let libraries = lines[2].dropFirst("with ".count).split(separator: ", ")
      let names = libraries.map { String($0.prefix { $0 != " " }) }
      #expect(names.starts(with: ["librdkafka", "OpenSSL"]) && names.contains("simdjson"))
      // The system's own, which the programs name, are all there.
      if name == "martlet-sender" { #expect(names.contains("nghttp2")) }
      if name == "martlet-webhooks" { #expect(names.contains("libcurl")) }
      if name == "martlet-feedback" { #expect(names.contains("SQLite") && names.contains("libpq")) }
    }
  }
}
