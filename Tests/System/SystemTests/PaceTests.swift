// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import JSON
import SystemTestSupport
import TestSupport
import Testing

/// `martlet pace` on running senders that come and go.
@Suite(.serialized) struct PaceTests {
  private func martlet(_ rig: PipelineRig, _ arguments: [String]) throws -> String {
    let run = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), arguments + ["--kafka", rig.kafka], in: rig.folder)
    #expect(run.status == 0, "\(run.output)")
    return run.output
  }

  /// When the gateway got each request, in milliseconds since the epoch, ascending.
  private func arrivals(_ rig: PipelineRig) throws -> [Int64] {
    try HTTPClient().get("http://\(rig.gatewayAdmin)/requests").text.split(separator: "\n")
      .compactMap { try JSONDocument(String($0)).root["time"]?.int }.sorted()
  }

  /// Waits until senders have had their partitions for ten seconds and a half.
  private func steady(_ milliseconds: UInt32 = 10_500) -> Range<Int64> {
    let start = WallClock.milliseconds()
    usleep(milliseconds * 1_000)
    return start..<WallClock.milliseconds()
  }

  @Test func `1, 2 and 3 senders keep a lane's 137/s, and 2 after a kill; none is ever faster`()
    throws
  {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try rig.start("martlet-signer")
    #expect(try martlet(rig, ["pace"]) == "no pace is set\n")
    let set = try martlet(rig, ["pace", "set", "lane", "bulk", "137/s", "--reason", "slow start"])
    #expect(
      set.hasSuffix("pace of lane:bulk: 137/s\n") && set.contains("deed=\"pace set\""), "\(set)")
    let listed = try martlet(rig, ["pace"])
    #expect(listed.hasPrefix("lane:bulk  137/s  since "), "\(listed)")
    try rig.produceNotifications(0..<12_000, lane: .bulk)
    var steadyTimes: [Range<Int64>] = []
    for count in 1...3 {
      try rig.start("martlet-sender", as: "sender-\(count)")
      for number in 1...count {
        let sign = "assigned"
        #expect(rig["sender-\(number)"].prints(sign, withinMilliseconds: 30_000))
      }
      usleep(4_000_000)
      steadyTimes.append(steady())
    }
    rig.kill("sender-2")
    // The session of the dead member, and the rebalance after it.
    usleep(14_000_000)
    steadyTimes.append(steady())
    let arrivals = try arrivals(rig)
    for time in steadyTimes {
      let start = time.upperBound - 10_000
      let count = arrivals.count { $0 > start && $0 <= time.upperBound }
      #expect(abs(count - 1_370) <= 14, "\(count) in ten seconds")
    }
    // All windows, those of rebalances, too.
    let most = arrivals.indices.map { index in
      arrivals[index...].prefix { $0 < arrivals[index] + 10_000 }.count
    }
    #expect(most.max()! <= 1_384, "\(most.max()!) in ten seconds")
    _ = try martlet(rig, ["pace", "clear", "lane", "bulk"])
    #expect(
      eventually(withinMilliseconds: 30_000) { (try? self.arrivals(rig).count) ?? 0 >= 12_000 })
    #expect(try martlet(rig, ["pace"]) == "no pace is set\n")
  }

  @Test func `a group keeps its pace, and others in its lane do not wait for it`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try rig.startServices()
    for name in PipelineRig.services { try #require(rig.isUp(name)) }
    _ = try martlet(rig, ["pace", "set", "group", "spring sale", "20/s"])
    #expect(rig["martlet-sender"].prints("of=\"group:spring sale\"", withinMilliseconds: 20_000))
    try rig.produce(rig.names.requests, 0..<1_100) { number in
      let group = number < 1_000 ? #""group":"spring sale","# : ""
      return (
        PipelineRig.token(number),
        #"{"id":"r\#(number)",\#(group)"app":"com.example.app","token":"\#(PipelineRig.token(number))","#
          + #""lane":"bulk","payload":{"aps":{"alert":"x"}}}"#
      )
    }
    var others = 0
    var ofGroup = 0
    let isRead = try rig.read(
      rig.names.receipts, withinMilliseconds: 10_000,
      { record in
        for line in (record.value ?? "").split(separator: "\n") {
          let receipt = try JSONDocument(String(line)).root
          if receipt["group"] == "spring sale" { ofGroup += 1 } else { others += 1 }
        }
      }, until: { others == 100 })
    #expect(isRead && ofGroup < 250, "\(others) others, \(ofGroup) of the group")
    let time = steady(14_000)
    let count = try arrivals(rig).count { $0 > time.upperBound - 10_000 && $0 <= time.upperBound }
    #expect(abs(count - 200) <= 2, "\(count) in ten seconds")
  }
}
