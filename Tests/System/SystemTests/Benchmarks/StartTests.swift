// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// What a program costs before it does anything. `benchmarks/run start` measures its wall time on a quiet machine.
@Suite struct StartTests {
  @Test(arguments: [
    "martlet", "martlet-api", "martlet-feedback", "martlet-ingest", "martlet-sender",
    "martlet-signer", "martlet-webhooks", "martlet-scheduler", "apns-simulator", "martlet-lab",
  ])
  func `a program starts within 200 ms of CPU`(name: String) throws {
    let folder = TemporaryFolder()
    // The second line of `times` is of the children: user and system.
    let command = "\"$0\" --version >/dev/null && times"
    let result = try BuiltProgram.run(
      "/bin/bash", ["-c", command, ChildProcess.sibling(name)], in: folder)
    #expect(result.status == 0, "\(result.output)")
    let times = result.output.split(separator: "\n").last ?? ""
    let seconds = times.matches(of: #/(\d+)m([\d.]+)s/#).compactMap { time in
      Double(time.2).map { 60 * (Double(time.1) ?? 0) + $0 }
    }
    try #require(seconds.count == 2, "\(result.output)")
    #expect(seconds[0] + seconds[1] > 0)
    #expect(seconds[0] + seconds[1] < 0.2, "\(times)")
  }
}
