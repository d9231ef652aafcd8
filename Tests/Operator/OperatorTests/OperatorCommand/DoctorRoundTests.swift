// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

@testable import OperatorCommand

@Suite struct DoctorRoundTests {
  @Test(
    arguments: [("echo found", 6, 0), ("exec tr '\\0' x </dev/zero", 4 << 20, SIGKILL)]
      as [(String, Int, Int32)])
  func `a check that writes without end is ended at the limit`(
    script: String, bytes: Int, signal: Int32
  ) throws {
    let pipe = try ChildPipe.open()
    let pid = try ChildProcess.spawn(
      "/bin/sh", ["-c", script], environment: ChildProcess.inheritedEnvironment(),
      output: pipe.input)
    close(pipe.input)
    let result = DoctorRound.result(
      of: pid, pipe.output, until: MonotonicClock.milliseconds() + 120_000)
    let count = try #require(result.output?.count)
    #expect(count >= bytes && count < bytes + 64 << 10)
    #expect(result.status == signal)
  }
}
