// SPDX-License-Identifier: Apache-2.0
import LabCommand
import Records
import TestSupport
import Testing

/// The demo: every process, and an audit of all that happened.
@Suite(.serialized) struct DemoTests {
  private func demo(_ flags: [String]) throws -> (status: Int32?, report: JSONValue, text: String) {
    let folder = TemporaryFolder()
    var flags = flags
    if let cluster = KafkaFixture.realCluster { flags += ["--kafka", cluster] }
    let program = try BuiltProgram.start("martlet", ["demo", "--json"] + flags, in: folder)
    let status = program.wait(withinMilliseconds: 240_000)
    let text = program.output
    let last = text.split(separator: "\n").last.map(String.init) ?? ""
    guard let report = try? JSONDocument(last).root else { return (status, .null, text) }
    return (status, report, text)
  }

  /// What must hold in every run, whatever happened to the processes.
  private func expectSound(_ report: JSONValue, requests: Int64) {
    #expect(report["requests"]?.int == requests)
    #expect(report["lost"]?.int == 0)
    #expect(report["invalid_tokens_recorded"] == report["invalid_tokens_expected"])
    #expect((report["invalid_tokens_expected"]?.int ?? 0) > 0)
    #expect((report["delivered"]?.int ?? 0) > requests)
    #expect((report["rejected"]?["Unregistered"]?.int ?? 0) > 0)
    #expect((report["dead_lettered"]?.int ?? 0) > 0)
    #expect((report["expired"]?.int ?? 0) > 0)
    #expect((report["deduplicated"]?.int ?? 0) > 0)
    #expect((report["notifications_per_second"]?.anyNumber ?? 0) > 0)
    #expect((report["latency_ms"]?["p99"]?.anyNumber ?? 0) > 0)
  }

  @Test func `an undisturbed run loses nothing and sends nothing twice`() throws {
    let (status, report, text) = try demo(["--requests", "5000", "--seed", "7"])
    #expect(status == 0, "the demo printed: \(text.suffix(3_000))")
    expectSound(report, requests: 5_000)
    #expect(report["duplicates"]?.int == 0)
  }

  @Test func `killing one of two senders with SIGKILL in the middle loses nothing`() throws {
    let (status, report, text) = try demo(["--requests", "20000", "--kill-sender"])
    #expect(status == 0, "the demo printed: \(text.suffix(3_000))")
    #expect(text.contains(LabLog.processKilled.rawValue))
    expectSound(report, requests: 20_000)
  }
}
