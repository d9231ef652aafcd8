// SPDX-License-Identifier: Apache-2.0
import Records
import TestSupport
import Testing

/// Runs the chaos suite as a process.
private enum ChaosProgram {
  static func run(_ arguments: [String]) throws -> (status: Int32?, text: String) {
    let folder = TemporaryFolder()
    let program = try BuiltProgram.start("martlet-chaos", arguments, in: folder)
    let status = program.wait(withinMilliseconds: 800_000)
    return (status, program.output)
  }
}

/// Pipelines of real processes, with faults and an audit, three at a time.
@Suite struct ShortFormTests {
  /// Every scenario of the short form, run once for all tests.
  private static let outcome = Result {
    try ChaosProgram.run(["--short", "--json", "--at-once", "3"])
  }

  @Test(arguments: [
    "kill-sender", "kill-ingest", "kill-signer-feedback", "clean-restart", "broker-outage",
    "rebalance-storm", "poison", "feedback-hosts", "gateway-faults", "gateway-outage",
    "backlog-kill", "hostile-records", "dead-addresses", "foreign-answers",
  ])
  func `nothing is lost, and no more arrives twice than the scenario's bound`(
    _ name: String
  ) throws {
    let text = try Self.outcome.get().text
    let line = text.split(separator: "\n").first { $0.hasPrefix("{") && $0.contains("\"\(name)\"") }
    let report = try JSONDocument(String(try #require(line, "it printed: \(text.suffix(8_000))")))
      .root
    #expect(report["scenario"]?.string == name)
    #expect(report["lost"]?.int == 0)
    #expect(report["problems"]?.array == [])
    #expect((report["faults"]?.int ?? 0) >= 2)
    #expect((report["notifications"]?.int ?? 0) > 200)
    #expect((report["checkpoints"]?.int ?? 0) >= 1)
    let duplicates = try #require(report["duplicates"]?.int)
    let bound = try #require(report["bound"]?.int)
    #expect(duplicates <= bound)
  }

  @Test func `all of them pass`() throws {
    let (status, text) = try Self.outcome.get()
    #expect(status == 0, "martlet-chaos printed: \(text.suffix(8_000))")
  }
}

/// The chaos suite's arguments.
@Suite struct ChaosArgumentTests {
  @Test func `what a cluster cannot be made to show is skipped with a line that says so`() throws {
    let (status, text) = try ChaosProgram.run([
      "broker-moves", "broker-restart", "--kafka", "127.0.0.1:1",
    ])
    #expect(status == 0, "martlet-chaos printed: \(text)")
    for need in [
      "broker-moves skipped: needs the embedded broker", "broker-restart skipped: needs a command",
    ] {
      #expect(text.split(separator: "\n").contains { $0.hasPrefix(need) }, "\(text)")
    }
  }

  @Test func `a scenario that does not exist is refused with the names of those that do`() throws {
    let (status, text) = try ChaosProgram.run(["kill-everybody"])
    #expect(status == 2)
    #expect(text.contains("kill-sender"))
  }
}
