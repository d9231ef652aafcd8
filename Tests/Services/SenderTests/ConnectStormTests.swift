// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Faults
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// What `DestinationHealthTests` shows in virtual time, with sockets: a gateway that turns every connection away is
/// not asked again and again. More time than is waited for here only means fewer connects per second.
@Suite struct ConnectStormTests {
  /// The waits between connects are 1.25 s, 2.5 s, 5 s at least: three connects in this time, one to spare.
  private static let window: UInt64 = 6_000
  private static let connectsAtMost = 4

  @Test
  func
    `each reason as the only answer, for a credential each: few connects, and nothing is dead-lettered`()
    throws
  {
    let rig = try SenderRig(keys: Reason.allCases.count)
    let rules = Reason.allCases.map {
      #"{"id":"any_answer","status":\#($0.rule.status),"reason":"\#($0.name)","#
        + #""when":{"app":"\#(Self.app($0))"}}"#
    }
    try rig.addFaults("[\(rules.joined(separator: ","))]")
    for (index, reason) in Reason.allCases.enumerated() {
      try rig.publishToken(
        issuedAt: WallClock.seconds() - 10, keyID: SenderRig.keyID(index + 1),
        apps: [Self.app(reason)])
    }
    let sender = try rig.startSender(loops: 1)
    for (index, reason) in Reason.allCases.enumerated() {
      try rig.sendMany(index * 20..<index * 20 + 20, app: Self.app(reason))
    }
    _ = eventually(withinMilliseconds: 20_000) { sender.counter("connects") > 0 }
    _ = eventually(withinMilliseconds: Self.window) { false }
    let connects = sender.counter("connects")
    #expect(connects >= Reason.allCases.count)
    #expect(connects <= Self.connectsAtMost * Reason.allCases.count, "\(connects) connects")
    #expect(sender.counter("dead_lettered") == 0)
    #expect(sender.stop() == nil)
  }

  private static func app(_ reason: Reason) -> String { "com.example.r\(reason.rawValue)" }

  @Test(arguments: [
    #"{"id":"goaway_credential"}"#, #"{"id":"goaway_shutdown","at":"ready"}"#,
    #"{"id":"connection_lost","at":"connection"}"#,
    #"{"id":"tls_failure","tls":"wrong_host"}"#, #"{"id":"connect_refused"}"#,
    #"{"id":"error_disconnect","when":{"errors":1}},{"id":"any_answer","status":400,"reason":"BadTopic"}"#,
    #"{"id":"stream_ids_exhausted","when":{"stream_id":1}}"#,
  ])
  func `each of these faults, for all connections: few connects`(rule: String) throws {
    let rig = try SenderRig()
    try rig.addFaults("[\(rule)]")
    try rig.publishToken(issuedAt: WallClock.seconds() - 10)
    let sender = try rig.startSender(loops: 1)
    try rig.sendMany(0..<100)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("connects") > 0 })
    _ = eventually(withinMilliseconds: Self.window) { false }
    let connects = sender.counter("connects")
    #expect(connects <= Self.connectsAtMost, "\(connects) connects")
    #expect(sender.counter("dead_lettered") == 0)
    try rig.endFaults()
  }
}
