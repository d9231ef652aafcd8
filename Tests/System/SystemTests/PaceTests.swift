// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import Records
import TestSupport
import Testing

/// `martlet pace` on running senders that come and go.
@Suite(.serialized) struct PaceTests {
  /// When the gateway got each request, in milliseconds since the epoch, ascending.
  private func arrivals(_ rig: PipelineRig) throws -> [Int64] {
    try HTTPClient().get("http://\(rig.gatewayAdmin)/requests").text.split(separator: "\n")
      .compactMap { try JSONDocument(String($0)).root["time"]?.int }.sorted()
  }

  /// `benchmarks/run pace` measures it to within 1 %, with more senders and a kill: here others use the machine.
  @Test
  func `one and two senders keep a lane's 137/s together, and the rest waits in Kafka`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try rig.start("martlet-signer")
    #expect(try rig.martlet(["pace"]) == "no pace is set\n")
    let set = try rig.martlet(["pace", "lane", "bulk", "137/s", "--reason", "slow start"])
    #expect(set.hasSuffix("pace of lane:bulk: 137/s\n") && set.contains("pace set"), "\(set)")
    let listed = try rig.martlet(["pace"])
    #expect(
      listed.hasPrefix("lane:bulk  137/s  since ") && listed.contains(": slow start"), "\(listed)")
    try rig.produceNotifications(0..<9_000, lane: .bulk)
    let begin = WallClock.milliseconds()
    try rig.start("martlet-sender", as: "one")
    try #require(rig.isUp("one"))
    #expect(try keepsPace(rig, since: begin))
    try rig.start("martlet-sender", as: "two")
    try #require(rig.isUp("two"))
    #expect(try keepsPace(rig, since: begin))
    #expect(try rig.committed(rig.names.notifications(.bulk), by: .sender) < 8_900)
    #expect(try rig.martlet(["pace", "lane", "bulk"]) == "pace of lane:bulk: 137/s\n")
    _ = try rig.martlet(["pace", "lane", "bulk", "none"])
    expectEventually { (try? self.arrivals(rig).count) ?? 0 >= 9_000 }
    #expect(try rig.martlet(["pace"]) == "no pace is set\n")
  }

  /// Whether there are five seconds from now on in which the lane goes at its pace; all in all it must not be faster. What
  /// came while the gateway stood still is of one moment.
  private func keepsPace(_ rig: PipelineRig, since begin: Int64) throws -> Bool {
    let start = WallClock.milliseconds()
    return try eventually(pauseMilliseconds: 500) {
      let now = WallClock.milliseconds()
      let all = try arrivals(rig)
      let most = Int(WallClock.milliseconds() - begin) * 150 / 1_000 + 137
      #expect(all.count <= most, "\(all.count) of \(most)")
      let count = all.count { $0 > now - 5_000 && $0 <= now }
      return now >= start + 5_000 && (650...750).contains(count)
    }
  }

  @Test func `a group keeps its pace, and others in its lane do not wait for it`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try rig.startServices()
    try rig.awaitServices()
    _ = try rig.martlet(["pace", "group", "spring sale", "20/s", "--app", "com.example.app"])
    #expect(
      rig["martlet-sender"].prints("of=\"group:com.example.app:production:spring sale\""))
    let begin = MonotonicClock.milliseconds()
    /// Those of the group that its pace allows until now, and what it may have at once.
    func most() -> Int { 50 + 20 * Int(MonotonicClock.milliseconds() - begin) / 1_000 }
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
    let isRead = try rig.readReceipts(
      { receipt in
        if receipt["group"] == "spring sale" { ofGroup += 1 } else { others += 1 }
      }, until: { others == 100 })
    #expect(isRead && ofGroup < 1_000, "\(others) others, \(ofGroup) of the group")
    #expect(ofGroup <= most(), "\(ofGroup) of the group")
    let seen = try arrivals(rig).count
    #expect(seen <= 100 + most(), "\(seen)")
  }
}
