// SPDX-License-Identifier: Apache-2.0
import Gateways
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

  @Test func `paces are followed; a record of one that cannot be kept sets none`() throws {
    let rig = try SenderRig(partitions: 1)
    try rig.publishToken()
    try rig.control(.lane("transactional"), #"{"pace":"1/d"}"#)
    try rig.control(.group("x"), #"{"pace":"5/s"}"#)
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("paces") == 2 })
    try rig.sendMany(5)
    try rig.control(.lane("nobody's"), #"{"pace":"5/s"}"#)
    try rig.control(.group("x"), "{")
    #expect(eventually { sender.counter("paces") == 1 })
    #expect(sender.counter("in_flight") == 0 && sender.counter("taken") == 0)
    try rig.control(.lane("transactional"), nil)
    #expect(eventually { sender.counter("paces") == 0 })
    #expect(try rig.receipts(of: 0..<5).count == 5)
    #expect(sender.stop() == nil)
  }
}
