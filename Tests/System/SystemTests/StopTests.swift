// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SystemTestSupport
import TestSupport
import Testing

@Suite("Every process ends when it is asked to, in bounded time", .serialized)
struct StopTests {
  /// The four processes of a pipeline on a broker of their own; nothing flows.
  private final class Pipeline {
    let folder = TemporaryFolder()
    let broker: BuiltProgram
    var services: [(name: String, program: BuiltProgram)] = []

    init(_ flags: [String] = []) throws {
      let keys = folder.file("keys")
      let made = try BuiltProgram.run(
        ChildProcess.sibling("martlet"), ["keys", "generate", keys], in: folder)
      try #require(made.status == 0, "keys generate printed: \(made.output)")
      let file = folder.file("broker.address")
      broker = try BuiltProgram.start("martlet", ["broker", "--address-file", file], in: folder)
      let kafka = try #require(broker.announcement(in: file), "it printed: \(broker.output)")
      let own: [(String, [String])] = [
        ("martlet-ingest", []),
        ("martlet-signer", ["--credentials", keys + "/credentials.json"]),
        // Nobody listens at the gateway's port, and nothing is sent.
        ("martlet-sender", ["--gateway", "localhost:1", "--gateway-roots", keys + "/root.pem"]),
        ("martlet-feedback", ["--database", folder.file("tokens.sqlite")]),
      ]
      for (name, more) in own {
        services.append(
          (name, try BuiltProgram.start(name, ["--kafka", kafka] + more + flags, in: folder)))
      }
      for (name, program) in services {
        let sign = name == "martlet-signer" ? "mints now" : "assigned"
        let isUp = program.prints(sign, withinMilliseconds: 20_000)
        try #require(isUp, "\(name) printed: \(program.output)")
      }
    }

    func signal(_ number: Int32) { for (_, program) in services { program.signal(number) } }

    func expectEnd(withinMilliseconds limit: UInt64, _ isExpected: (Int32) -> Bool) {
      let deadline = MonotonicClock.milliseconds() + limit
      for (name, program) in services {
        let now = MonotonicClock.milliseconds()
        let status = program.wait(withinMilliseconds: deadline > now ? deadline - now : 0)
        #expect(
          status.map(isExpected) == true,
          "\(name) ended with \(status.map(String.init) ?? "nothing"): \(program.output.suffix(1_500))"
        )
      }
    }
  }

  @Test("SIGTERM ends every service with status 0")
  func term() throws {
    let pipeline = try Pipeline()
    pipeline.signal(SIGTERM)
    pipeline.expectEnd(withinMilliseconds: 15_000) { $0 == 0 }
    #expect(pipeline.broker.stop() == 0)
  }

  @Test("without a broker SIGTERM takes no longer than --stop-timeout")
  func brokerGone() throws {
    let pipeline = try Pipeline(["--stop-timeout", "3s"])
    pipeline.broker.signal(SIGKILL)
    pipeline.signal(SIGTERM)
    pipeline.expectEnd(withinMilliseconds: 6_000) { $0 == 0 || $0 == 1 }
  }

  @Test("without a broker a second SIGTERM ends every service within two seconds or so")
  func secondSignal() throws {
    let pipeline = try Pipeline()
    pipeline.broker.signal(SIGKILL)
    pipeline.signal(SIGTERM)
    usleep(200_000)
    pipeline.signal(SIGTERM)
    pipeline.expectEnd(withinMilliseconds: 4_000) { $0 == 0 || $0 == 1 }
  }
}
