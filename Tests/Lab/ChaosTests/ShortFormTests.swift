// SPDX-License-Identifier: Apache-2.0
import JSON
import SystemTestSupport
import TestSupport
import Testing

/// The chaos suite's short form: a pipeline of real processes, hurt and audited.
private enum ShortForm {
  static func chaos(_ arguments: [String]) throws -> (status: Int32?, text: String) {
    let folder = TemporaryFolder()
    let program = try BuiltProgram.start("martlet-chaos", arguments, in: folder)
    let status = program.wait(withinMilliseconds: 300_000)
    return (status, program.output)
  }

  /// Runs a scenario; nothing may be lost, and no more arrive twice than its bound.
  static func expectSound(_ name: String) throws {
    let (status, text) = try chaos([name, "--short", "--json"])
    #expect(status == 0, "martlet-chaos printed: \(text.suffix(4_000))")
    let line = text.split(separator: "\n").last { $0.hasPrefix("{") }
    let report = try JSONDocument(String(try #require(line, "it printed: \(text)"))).root
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
}

@Suite("The chaos suite's short form: processes are killed", .serialized)
struct ShortFormKillTests {
  @Test(arguments: ["kill-sender", "kill-ingest", "kill-signer-feedback", "clean-restart"])
  func `nothing is lost, and no more arrives twice than the scenario's bound`(_ name: String) throws
  { try ShortForm.expectSound(name) }
}

@Suite("The chaos suite's short form: Kafka and its records", .serialized)
struct ShortFormKafkaTests {
  @Test(arguments: ["broker-outage", "rebalance-storm", "poison", "feedback-hosts"])
  func `nothing is lost, and no more arrives twice than the scenario's bound`(_ name: String) throws
  { try ShortForm.expectSound(name) }
}

@Suite("The chaos suite's short form: the gateway", .serialized)
struct ShortFormGatewayTests {
  @Test(arguments: ["gateway-faults", "gateway-outage", "backlog-kill"])
  func `nothing is lost, and no more arrives twice than the scenario's bound`(_ name: String) throws
  { try ShortForm.expectSound(name) }
}

@Suite("The chaos suite's arguments")
struct ChaosArgumentTests {
  @Test
  func `what only a real cluster can show is skipped with a line that says so`() throws {
    let (status, text) = try ShortForm.chaos([
      "static-member", "commit-in-rebalance", "broker-restart",
    ])
    #expect(status == 0, "martlet-chaos printed: \(text)")
    for name in ["static-member", "commit-in-rebalance", "broker-restart"] {
      let line = text.split(separator: "\n").first { $0.hasPrefix("\(name) skipped: needs a real") }
      #expect(line != nil, "martlet-chaos printed: \(text)")
    }
  }

  @Test
  func `a scenario that does not exist is refused with the names of those that do`() throws {
    let (status, text) = try ShortForm.chaos(["kill-everybody"])
    #expect(status == 2)
    #expect(text.contains("kill-sender"))
  }
}
