// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import EventLoop
import HTTP2
import Pipeline
import Records
import ServiceKit
import Signing
import TestSupport
import Testing

@testable import Sender

/// Provider tokens and keys that change.
@Suite(.serialized) struct CredentialChangeTests {
  @Test
  func
    `a rotated key: its connections drain, new ones carry the new token, no push is lost or doubled`()
    throws
  {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.reply = { peer, request in
      peer.number == 1 && request.stream > 1 ? .hold : .answer(200)
    }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    try rig.startSender(for: [gateway])
    try rig.sendMany(11)
    #expect(eventually { gateway.seen.requests.count == 11 })
    try rig.publishToken(keyID: "KEY0000002")
    try rig.withdrawToken("TEAM000001/KEY0000001/any")
    // What is in flight stays where it is, what comes now goes out with the new key.
    var probes = 0
    let hasChanged = try eventually(withinMilliseconds: 20_000, pauseMilliseconds: 100) {
      try rig.sendMany(1, from: 100 + probes)
      probes += 1
      return gateway.seen.requests.contains { $0.connection == 2 }
    }
    #expect(hasChanged)
    try rig.sendMany(20, from: 1_000)
    #expect(eventually { gateway.seen.requests.filter { $0.connection == 2 }.count >= 20 })
    gateway.answerHeld()
    let count = 31 + probes
    let receipts = try rig.receipts(count)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    let tokens = [1, 2].map { number in
      Set(gateway.seen.requests.filter { $0.connection == number }.map(\.authorization))
    }
    #expect(tokens.allSatisfy { $0.count == 1 }, "one token a connection")
    #expect(tokens[0] != tokens[1])
    #expect(eventually { gateway.seen.open == 1 })
  }

  @Test
  func `a renewed token within 20 minutes of the last is not put on a connection that has one`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let now = WallClock.seconds()
    try rig.publishToken(issuedAt: now - 3_000)
    let sender = try rig.startSender(for: [gateway])
    try rig.sendMany(5)
    #expect(try rig.receipts(5).count == 5)
    try rig.publishToken(issuedAt: now, generation: 2)
    _ = eventually(withinMilliseconds: 300) { false }
    try rig.sendMany(5, from: 5)
    #expect(try rig.receipts(10).count == 10)
    #expect(Set(gateway.seen.requests.map(\.authorization)).count == 1)
    #expect(gateway.seen.connections == 1)
    #expect(sender.counter("connects") == 1)
  }

  /// pushy#931: a new token after TooManyProviderTokenUpdates makes it worse.
  @Test
  func
    `429 TooManyProviderTokenUpdates: no token is asked for, another connection carries the same one`()
    throws
  {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.reply = { peer, request in
      peer.number == 1 && request.stream > 1
        ? .answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#) : .answer(200)
    }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    try rig.startSender(for: [gateway])
    try rig.sendMany(1)
    #expect(try rig.receipts(1).count == 1)
    try rig.sendMany(3, from: 1)
    let receipts = try rig.receipts(4, withinMilliseconds: 20_000)
    #expect(receipts.count == 4)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(Set(gateway.seen.requests.map(\.authorization)).count == 1)
    #expect(gateway.seen.connections >= 2)
    // A sender that gets its first push before it has read the tokens asks for one: that is about the start.
    let asked = try rig.fixture.read(
      rig.names.tokenRequests, count: 2, timeoutMilliseconds: 500)
    #expect(asked.allSatisfy { $0.value?.contains("missing") == true })
    #expect(asked.count <= 1)
  }

  @Test func `a token older than 55 minutes is not used: pushes wait for the next one`() throws {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let now = WallClock.seconds()
    try rig.publishToken(issuedAt: now - 55 * 60)
    try rig.startSender(for: [gateway])
    try rig.sendMany(5)
    // One that gets its first push before it has read the tokens asks for the app's as well.
    let asked = try rig.fixture.read(rig.names.tokenRequests, count: 1)
    #expect((1...2).contains(asked.count))
    #expect(gateway.seen.requests.isEmpty)
    try rig.publishToken(issuedAt: now, generation: 2)
    #expect(try rig.receipts(5).count == 5)
  }

  @Test func `a burst that is refused for its old token asks for a newer one once`() throws {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.reply = { _, request in request.stream == 1 ? .answer(200) : .hold }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    let sender = try rig.startSender(for: [gateway])
    try rig.sendMany(31)
    #expect(eventually { gateway.seen.requests.count == 31 })
    gateway.answerHeld(403, #"{"reason":"ExpiredProviderToken"}"#)
    #expect(eventually { sender.counter("kept_in_outage") == 30 })
    #expect(sender.counter("token_requests") == 1)
  }

  @Test
  func `SIGHUP with other roots: the next connect does not wait out the time of those that failed`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    try File.write(rig.rootPath, try CertificateAuthority().certificatePEM)
    try rig.publishToken()
    let sender = try rig.startSender(for: [gateway])
    try rig.sendMany(3)
    // The fifth comes 10 s later at the earliest.
    #expect(eventually(withinMilliseconds: 60_000) { sender.counter("connects") == 4 })
    try File.write(rig.rootPath, rig.authority.certificatePEM)
    sender.context.signals.requestReload()
    #expect(eventually(withinMilliseconds: 8_000) { gateway.seen.requests.count == 3 })
  }
}
