// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// A program that is started without standard error.
@Suite struct ClosedOutputTests {
  @Test func `the log of a program without standard error goes into no other file`() throws {
    let folder = TemporaryFolder()
    let simulator = ChildProcess.sibling("apns-simulator")
    let script = """
      cd '\(folder.path)'
      '\(simulator)' --dev keys > addresses 2>&- &
      trap "kill $!" EXIT
      until [ -s addresses ]; do sleep 0.1; done
      readlink /proc/$!/fd/2
      """
    let result = try BuiltProgram.run(
      try SystemProgram.path("bash"), ["-c", script], in: folder, withinMilliseconds: 60_000)
    #expect(result.output == "/dev/null\n")
  }
}
