// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// Records of `push.controls` that anyone may have written.
@Suite struct PauseFeedTests {
  @Test(arguments: ["{", "[[[[", "{}", #"{"paused":"yes"}"#])
  func `a control record that cannot be read pauses nothing`(value: String) throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
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
    let rig = try SenderRig(partitions: 1, hasToken: true)
    try rig.control(.lane("transactional"), #"{"pace":"1/d"}"#)
    try rig.control(.group("a", .production, "x"), #"{"pace":"5/s"}"#)
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("paces") == 2 })
    try rig.sendMany(5)
    try rig.control(.lane("nobody's"), #"{"pace":"5/s"}"#)
    try rig.control(.group("a", .production, "x"), "{")
    #expect(eventually { sender.counter("paces") == 1 })
    #expect(sender.counter("in_flight") == 0 && sender.counter("taken") == 0)
    try rig.control(.lane("transactional"), nil)
    #expect(eventually { sender.counter("paces") == 0 })
    #expect(try rig.receipts(of: 0..<5).count == 5)
    #expect(sender.stop() == nil)
  }

  @Test
  func `a cancelled campaign's pushes end unsent, and another app's of the name go out`() throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    func control(_ app: String, _ value: String?) throws {
      let key = CampaignKey(name: "sale", app: app, environment: .production)!
      _ = try rig.fixture.produce(
        rig.producer, rig.producer.topic(named: rig.names.controls), key: "\(key)", value: value)
    }
    func send(_ numbers: Range<Int>, carrying more: [String] = ["group=sale", "campaign=sale"])
      throws
    {
      for number in numbers {
        try rig.send(
          SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number), carrying: more))
      }
    }
    try control(SenderRig.app, #"{"cancelled":true,"at":1795000000000,"by":"ann"}"#)
    try control("com.example.other", #"{"paused":true,"at":1795000000000,"by":"ann"}"#)
    let sender = try rig.startSender()
    try send(0..<5)
    try send(5..<10, carrying: ["group=sale"])
    let receipts = try rig.receipts(of: 0..<10)
    #expect(receipts.count == 10)
    let cancelled = receipts.filter { $0.outcome == .cancelled }
    #expect(cancelled.count == 5 && cancelled.allSatisfy { $0.reason == "campaign_cancelled" })
    #expect(cancelled.allSatisfy { $0.carried[.campaign] == "sale" })
    #expect(sender.counter("paused_campaigns") == 1)
    // Its name is used again.
    try control(SenderRig.app, nil)
    try control("com.example.other", nil)
    #expect(eventually { sender.counter("paused_campaigns") == 0 })
    try send(10..<15)
    #expect(try rig.receipts(of: 10..<15).count { $0.outcome == .delivered } == 5)
    #expect(sender.stop() == nil)
  }
}
