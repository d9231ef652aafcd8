// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

/// `benchmarks/run` with --kafka, on a broker of another process; the figures do not matter here.
@Suite(.serialized) struct BenchmarkRunTests {
  @Test(arguments: [
    "sender --count 1000", "ingest --count 1000", "feedback --count 1000",
    "pipeline --senders 1 --count 1000", "latency --count 1000 --seconds 2",
    "backlog --count 1000", "scale --senders 1 --count 1000", "api --count 1000",
    "demo --senders 1 --count 2000",
    "connections --credentials 10 --count 1000",
    "tokens --count 100", "import --count 2000", "suppression --count 2000",
    "start",
  ])
  func `a measurement runs on the Kafka that it is given`(words: String) throws {
    let folder = TemporaryFolder()
    let address = folder.file("address")
    let broker = try BuiltProgram.start(
      "martlet", ["broker", "--address-file", address], in: folder)
    defer { withExtendedLifetime(broker) {} }
    let kafka = try #require(Self.text(address), "\(broker.output)")
    let build = ChildProcess.sibling("martlet").split(separator: "/").dropLast()
      .reduce("") { "\($0)/\($1)" }
    let result = try BuiltProgram.run(
      "/usr/bin/env",
      ["BENCHMARK_BUILD=\(build)", Repository.path("benchmarks/run")]
        + words.split(separator: " ").map(String.init)
        + ["--rounds", "1", "--kafka", kafka, "--json"],
      in: folder, withinMilliseconds: 300_000)
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains("\"kafka\": \"cluster\""), "\(result.output)")
    #expect(!result.output.contains("\"kafka\": \"embedded\""))
    #expect(!result.output.contains(kafka + "\""), "the address is not kept: \(result.output)")
  }

  /// The file's line when it is whole; nil after a minute.
  private static func text(_ path: String) -> String? {
    for _ in 0..<1_200 {
      if let text = try? File.text(path), text.hasSuffix("\n") { return String(text.dropLast()) }
      letPass(milliseconds: 50)
    }
    return nil
  }
}
