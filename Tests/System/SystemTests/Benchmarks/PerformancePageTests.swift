// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

/// docs/cost.md and the README's figures are what benchmarks/results has.
@Suite struct PerformancePageTests {
  private func pages(_ words: String..., in folder: TemporaryFolder) throws -> (
    status: Int32, output: String
  ) {
    try BuiltProgram.run(
      "/usr/bin/env", ["python3", Repository.path("benchmarks/pages")] + words, in: folder)
  }

  @Test func `pages, plots and the planner's costs are those of the results`() throws {
    let result = try pages("--check", in: TemporaryFolder())
    #expect(result.status == 0, "\(result.output)")
  }

  @Test func `another figure in the results is noticed`() throws {
    let (name, field) = ("http2.jsonl", "ratio_to_h2load")
    let folder = TemporaryFolder()
    let text = try Repository.text("benchmarks/results/\(name)")
    let figure = try #require(text.firstMatch(of: try Regex("\"\(field)\": [0-9.]+")))
    var changed = text
    changed.replaceSubrange(figure.range, with: "\"\(field)\": 77.7")
    let copy = try BuiltProgram.run(
      "/bin/cp", ["-r", Repository.path("benchmarks/results"), folder.file("results")], in: folder)
    #expect(copy.status == 0)
    try File.write(folder.file("results/\(name)"), Array(changed.utf8), mode: 0o644)
    let result = try pages("--check", "--results", folder.file("results"), in: folder)
    #expect(result.status == 1)
    #expect(result.output.contains("docs/cost.md is not what"), "\(result.output)")
  }

  @Test func `every measurement of the suite has a command that benchmarks/run knows`() throws {
    let folder = TemporaryFolder()
    let known = try BuiltProgram.run(Repository.path("benchmarks/run"), ["--help"], in: folder)
    let suite = try Repository.text("benchmarks/suite.py")
    let commands = suite.matches(of: #/"[a-z0-9-]+": "([a-z0-9]+)/#).map { String($0.1) }
    #expect(commands.count > 20)
    for command in commands {
      #expect(known.output.contains("benchmarks/run \(command)"), "\(command)")
    }
  }
}
