// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// The simulator in test suites of others: the wheel with its fixture, and the examples of docs/simulator.md.
@Suite(.serialized) struct SimulatorWheelTests {
  private struct Example {
    let language: String
    let file: String
    /// Programs of the system that it needs.
    let programs: [String]
    let command: String
    /// What a run prints in which its test has passed.
    let passed: String
  }

  private static let jars = "/usr/share/java/junit4.jar"
  private static let examples = [
    Example(
      language: "python", file: "test_example.py", programs: [],
      command: "python -m pytest -q -p no:cacheprovider test_example.py", passed: "1 passed"),
    Example(
      language: "java", file: "ExampleTest.java", programs: ["java", "javac"],
      command: """
        jars=\(jars):/usr/share/java/hamcrest.jar:/usr/share/java/hamcrest-core.jar
        javac -cp $jars -d . ExampleTest.java
        java -cp .:$jars org.junit.runner.JUnitCore ExampleTest
        """, passed: "OK (1 test)"),
    Example(
      language: "go", file: "example_test.go", programs: ["go"],
      // What Go compiled of its library stays for the next run.
      command: "GOCACHE='\(Repository.path(".build/go-cache"))' go test -count=1 example_test.go",
      passed: "ok "),
    Example(
      language: "js", file: "example.test.mjs", programs: ["node"],
      command: "node --test example.test.mjs", passed: "pass 1"),
    Example(
      language: "ruby", file: "example.rb", programs: ["ruby"], command: "ruby example.rb",
      passed: "1 runs"),
    Example(
      language: "bash", file: "example.sh", programs: ["curl"],
      command: "bash -euo pipefail example.sh && echo passed", passed: "passed"),
  ]
  /// It needs packages that are fetched when it is built.
  private static let notRun = "swift"

  /// What the page's first section shows, by language.
  private static func shown() throws -> [String: String] {
    let page = try Repository.text("docs/simulator.md")
    let start = try #require(page.split(separator: "\n## In your tests\n", maxSplits: 1).last)
    let section = try #require(start.split(separator: "\n## ", maxSplits: 1).first)
    let blocks = section.matches(of: #/```(\w+)\n((?s).*?)\n```/#)
    return Dictionary(blocks.map { (String($0.1), "\($0.2)\n") }) { first, _ in first }
  }

  /// Whether a line is one of those that an example is counted by: not blank, not a heading, not only brackets.
  private static func counts(_ line: Substring) -> Bool {
    let heading =
      #/ *(import|from|require|package|public class|class |func Test|test\(|@Test|coproc).*/#
    return line.wholeMatch(of: heading) == nil && line.wholeMatch(of: #/\W*(end)?\W*/#) == nil
  }

  @Test func `the wheel serves clients of PyPI, its fixture does what it says, and its types hold`()
    throws
  {
    let folder = TemporaryFolder()
    let wheel = try SimulatorWheel(in: folder)
    let program = ChildProcess.sibling("apns-simulator")
    let said = try BuiltProgram.run(program, ["--version"], in: folder)
    let version = said.output.split(separator: "\n").first?.split(separator: " ").last ?? ""
    #expect(wheel.name.hasPrefix("apns_simulator-\(version)-py3-none-manylinux_2_"))
    let again = try wheel.run(
      "python -B '\(Repository.path("deploy/python/wheel"))' '\(program)' . && cmp *.whl ../dist/*.whl",
      in: "again")
    #expect(again.status == 0, "two wheels differ: \(again.output.suffix(2_000))")
    let tests = Repository.path("deploy/python/tests")
    let tested = try wheel.run("python -m pytest -q -p no:cacheprovider '\(tests)'", in: "tests")
    #expect(tested.status == 0, "\(tested.output.suffix(3_000))")
    let checked = try wheel.run(
      "python -m mypy --strict --cache-dir cache -p apns_simulator", in: "types")
    #expect(checked.status == 0, "\(checked.output.suffix(2_000))")
  }

  @Test func `every example of the page is short, and does what it shows`() throws {
    guard File.exists(Self.jars) else { throw MissingProgram(name: Self.jars) }
    let shown = try Self.shown()
    let languages = Self.examples.map(\.language) + [Self.notRun]
    #expect(Set(shown.keys) == Set(languages + ["dockerfile", "yaml"]))
    for language in languages {
      let lines = (shown[language] ?? "").split(separator: "\n").filter(Self.counts)
      #expect((1...15).contains(lines.count), "\(language): \(lines.count) lines")
    }
    for program in Self.examples.flatMap(\.programs) { _ = try SystemProgram.path(program) }
    let folder = TemporaryFolder()
    let wheel = try SimulatorWheel(in: folder)
    for example in Self.examples {
      _ = try wheel.run("true", in: example.language)
      try File.write(
        folder.file("\(example.language)/\(example.file)"),
        Array((shown[example.language] ?? "").utf8))
      let run = try wheel.run(example.command, in: example.language)
      #expect(
        run.status == 0 && run.output.contains(example.passed),
        "\(example.language): \(run.output.suffix(2_000))")
    }
  }

  /// Its packages are not here to type-check it with.
  @Test func `the example that is not run is well formed`() throws {
    let folder = TemporaryFolder()
    let example = folder.file("example.swift")
    try File.write(example, Array((Self.shown()[Self.notRun] ?? "").utf8))
    let run = try BuiltProgram.run(
      SystemProgram.path("env"), ["swiftc", "-frontend", "-parse", example], in: folder)
    #expect(run.status == 0, "\(run.output)")
  }
}
