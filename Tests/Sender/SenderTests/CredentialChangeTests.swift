// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTP2
import Records
import ServiceKit
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
    try expectEventually(pauseMilliseconds: 100) {
      try rig.sendMany(1, from: 100 + probes)
      probes += 1
      return gateway.seen.requests.contains { $0.connection == 2 }
    }
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
    #expect(eventually { sender.counter("connects") == 4 })
    try File.write(rig.rootPath, rig.authority.certificatePEM)
    sender.context.signals.requestReload()
    #expect(eventually(withinMilliseconds: 8_000) { gateway.seen.requests.count == 3 })
  }
}
