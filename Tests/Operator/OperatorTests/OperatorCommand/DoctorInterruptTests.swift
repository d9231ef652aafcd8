// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct DoctorInterruptTests {
  @Test func `an interrupted doctor finds nothing`() throws {
    let folder = TemporaryFolder()
    // Its program refuses it at once.
    try File.write(folder.file("ingest.properties"), Array("no-setting = 1\n".utf8))
    let context = try DoctorCommand.context(["--settings", folder.path])
    context.signals.requestStop(by: SIGINT)
    let failure = #expect(throws: ServiceFailure.self) {
      try DoctorCommand.run(DoctorCommand.settings(context.values), context)
    }
    #expect(failure?.description == "interrupted: not everything was checked")
    #expect(failure?.status == 130)
  }
}
