// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewaySimulator
import HTTPClient
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

@testable import Sender

/// Fields of an envelope that are carried, also those that only a later version knows.
@Suite struct CarriedFieldTests {
  /// What a later version may write: header fields and others, with every byte that a value may have.
  private static let later = [
    "zeta=", "apns-new-thing=a=b ~", #"data={"order":"8812"}"#, "later=ü \u{7F}{}\"=",
    "apns-collapse-id=c",
  ]

  private func line(_ record: ReadRecord) -> String {
    String((record.value ?? "").prefix { $0 != "\n" })
  }

  @Test
  func `go through a retry topic byte for byte, to the gateway and to the receipt`() throws {
    // One push has to wait, however fast they come.
    let rig = try SenderRig()
    try rig.addFaults(#"[{"id":"too_many_requests","when":{"nth":2}}]"#)
    try rig.publishToken()
    try rig.startSender()
    for number in 1...2 {
      try rig.send(
        SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number), carrying: Self.later))
    }
    let parked = try rig.fixture.read(rig.names.retries(.seconds5), count: 1)
    let fields = line(try #require(parked.first)).split(
      separator: "\t", omittingEmptySubsequences: false)
    #expect(fields.dropFirst(14).map(String.init) == Self.later)
    #expect(fields[13] == "TooManyRequests")
    let receipts = try rig.receipts(2)
    #expect(receipts.map(\.outcome) == [.delivered, .delivered])
    #expect(Set(receipts.map(\.attempts)) == [1, 2])
    #expect(receipts.allSatisfy { $0.data == #"{"order":"8812"}"# })
    let seen = try HTTPClient().get("http://127.0.0.1:\(rig.simulator.adminPort)/requests").text
    let requests = seen.split(separator: "\n")
    #expect(requests.count == 3)
    for request in requests {
      #expect(request.contains(#"["apns-new-thing","a=b ~","#))
      #expect(request.contains(#"["apns-collapse-id","c","#))
    }
    #expect(!seen.contains("zeta") && !seen.contains("later"))
  }

  @Test
  func `are in the dead letter as they came; what no header may be is refused`() throws {
    let rig = try SenderRig()
    try rig.publishToken(keyID: "KEY0000002", apps: ["com.example.other"])
    try rig.startSender { $0.credentialWait = 1_500 }
    let good = SenderRig.envelope(id: SenderRig.id(1), carrying: Self.later)
    try rig.send(SenderRig.token(1), good)
    let receipt = try #require(try rig.receipts(1).first)
    #expect(receipt.outcome == .deadLettered)
    #expect(receipt.data == #"{"order":"8812"}"#)
    let bad = SenderRig.envelope(id: SenderRig.id(2), carrying: ["apns-topic=com.example.other"])
    try rig.send(SenderRig.token(2), bad)
    let old = "M1" + good.dropFirst(2)
    try rig.send(SenderRig.token(3), old)
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 3)
    #expect(Set(letters.map(\.value)) == [good, bad, old])
    func detail(_ value: String) -> String {
      let letter = letters.first { $0.value == value }
      return letter.flatMap { header($0, DeadLetterHeader.detail) } ?? ""
    }
    #expect(detail(bad).hasPrefix("keyed field: a header field of this name is not passed on"))
    #expect(detail(old).hasPrefix("version: is not M2, which this build reads"))
  }

  private func header(_ record: ReadRecord, _ name: String) -> String? {
    record.headers.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
  }
}
