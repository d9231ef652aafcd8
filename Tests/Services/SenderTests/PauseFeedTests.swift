// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Sender

/// Records of `push.controls` that anyone may have written.
@Suite struct PauseFeedTests {
  @Test(arguments: ["{", "[[[[", "{}", #"{"paused":"yes"}"#])
  func `a control record that cannot be read pauses nothing`(value: String) throws {
    let rig = try SenderRig(partitions: 1)
    try rig.publishToken()
    try rig.pauseLane(true)
    try rig.controlLane(value)
    try rig.sendMany(5)
    let sender = try rig.startSender()
    #expect(try rig.receipts(of: 0..<5).count == 5)
    #expect(sender.counter("paused_lanes") == 0)
    try rig.pauseLane(true)
    #expect(eventually { sender.counter("paused_lanes") == 1 })
    #expect(sender.stop() == nil)
  }
}
