// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct ConfirmationTests {
  @Test func `Ctrl-C ends the wait for an answer, and nothing is changed`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let context = try ServiceContext.test()
    context.signals.requestStop(by: SIGINT)
    let failure = #expect(throws: ServiceFailure.self) {
      try Confirmation.awaitLine(on: ends[0], context)
    }
    #expect(failure?.description == "interrupted: not confirmed; nothing changed")
    #expect(failure?.status == 130)
  }

  @Test func `a line ends the wait`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    try #require(write(ends[1], "yes\n", 4) == 4)
    try Confirmation.awaitLine(on: ends[0], .test())
  }
}
