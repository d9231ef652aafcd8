// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewaySimulator
import Records
import SenderDecisions
import Settings
import TestSupport
import Testing

@testable import Sender

/// What the answer's headers say, and both environments.
@Suite(.serialized) struct ReceiptHeaderTests {
  private static let otherID = "11111111-2222-4333-8444-555555555555"
  private static let requestID = "66666666-7777-4888-9999-aaaaaaaaaaaa"

  @Test func `ids that are others than ours and retry-after stand in the receipt`() throws {
    let gateway = try ScriptedGateway { request in
      switch request.token {
      case SenderRig.token(1):
        .answer(.init(identifier: Self.otherID, requestIdentifier: Self.requestID))
      case SenderRig.token(2):
        .refused(400, "BadPriority", retryAfter: 7, identifier: request.id)
      default: .answer(.init(identifier: request.id))
      }
    }
    let rig = try SenderRig(hasToken: true)
    try rig.startSender(loops: 1, answering: gateway)
    try rig.sendMany(1..<4)
    let receipts = try rig.receipts(of: 1..<4)
    func receipt(_ number: Int) throws -> Receipt {
      try #require(receipts.first { $0.apnsID == NotificationID(SenderRig.id(number)) })
    }
    let strange = try receipt(1)
    #expect(strange.outcome == .delivered)
    #expect(strange.answeredID == Self.otherID)
    #expect(strange.gatewayRequestID == Self.requestID)
    #expect(strange.retryAfter == nil)
    let refused = try receipt(2)
    #expect(refused.outcome == .rejected)
    #expect(refused.retryAfter == 7)
    #expect(refused.answeredID == nil, "the same id is not repeated")
    let plain = try receipt(3)
    #expect(plain.answeredID == nil && plain.gatewayRequestID == nil && plain.uniqueID == nil)
  }

  @Test func `a throttled device's retry-after decides how long the notification waits`() throws {
    let gateway = try ScriptedGateway { request in
      request.token == SenderRig.token(1)
        ? .refused(429, "TooManyRequests", retryAfter: 40) : .refused(429, "TooManyRequests")
    }
    let rig = try SenderRig(hasToken: true)
    try rig.startSender(loops: 1, answering: gateway)
    try rig.sendMany(1..<3)
    // 40 s are more than the first topic waits, which is where the other one goes.
    let minute = try rig.fixture.read(
      rig.names.retries(.minute1), count: 1, timeoutMilliseconds: 30_000)
    #expect(minute.map(\.key) == [SenderRig.token(1)])
    let seconds = try rig.fixture.read(
      rig.names.retries(.seconds5), count: 1, timeoutMilliseconds: 30_000)
    #expect(seconds.map(\.key) == [SenderRig.token(2)])
  }

  @Test func `one sender serves production and sandbox, each at its own gateway and port`() throws {
    let rig = try SenderRig()
    let sandbox = rig.simulator.sandboxAddress.port
    #expect(sandbox != rig.simulator.address.port)
    try rig.publishToken()
    try rig.startSender(sandbox: "localhost:\(sandbox)")
    for number in 0..<40 {
      try rig.send(
        SenderRig.token(number),
        SenderRig.envelope(
          id: SenderRig.id(number), environment: number % 2 == 0 ? .production : .sandbox))
    }
    let receipts = try rig.receipts(of: 0..<40)
    #expect(receipts.count == 40)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    // Only the sandbox gives apns-unique-id: it says which gateway answered.
    #expect(receipts.count { $0.environment == .sandbox } == 20)
    for receipt in receipts {
      #expect((receipt.uniqueID != nil) == (receipt.environment == .sandbox), "\(receipt.apnsID)")
    }
  }

  @Test func `Apple's other port, and the defaults of each environment`() throws {
    func settings(_ flags: [String]) throws -> SenderSettings {
      try SenderSettings(SenderSettings.table.values(["--kafka", "localhost:1"] + flags))
    }
    let usual = try settings([])
    #expect("\(usual.gateway(.production))" == "api.push.apple.com:443")
    #expect("\(usual.gateway(.sandbox))" == "api.sandbox.push.apple.com:443")
    let other = try settings([
      "--gateway", "api.push.apple.com:2197", "--sandbox-gateway",
      "api.sandbox.push.apple.com:2197",
    ])
    #expect(other.gateway(.production).port == 2197)
    #expect(other.gateway(.sandbox).port == 2197)
    #expect(
      other.gateway(other.dispatch.gatewayKind(.sandbox, .channel)).host
        == "api.sandbox.push.apple.com")
  }
}
