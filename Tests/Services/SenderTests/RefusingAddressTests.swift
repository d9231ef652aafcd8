// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import EventLoop
import Glibc
import Pipeline
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// One of two addresses refuses a credential that the other one accepts.
@Suite(.serialized) struct RefusingAddressTests {
  @Test(arguments: [
    Reason.invalidProviderToken, .expiredProviderToken, .missingProviderToken, .forbidden,
    .badCertificate,
  ])
  func `from its first push on: all are delivered at the other one, none waits or is rejected`(
    _ reason: Reason
  ) throws {
    let rig = try SenderRig()
    var refusing = ScriptedGateway.Script()
    refusing.reply = { _, _ in .refused(Int(reason.rule.status), reason.name) }
    let gateways = try rig.gateways([refusing, .init()])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways) { $0.pool.minimum = 2 }
    try rig.sendMany(75)
    try expectDelivered(75, rig, sender)
    #expect(gateways[0].count <= 5 && gateways[1].count == 75)
    #expect(
      sender.counter("credential_refusals") == 0, "nobody is told that the credential is refused")
  }

  @Test(arguments: [Reason.invalidProviderToken, .expiredProviderToken])
  func `after it has served: the pushes move to the other one`(_ reason: Reason) throws {
    let refuses = Atomic(false)
    let rig = try SenderRig()
    var refusing = ScriptedGateway.Script()
    refusing.reply = { _, _ in
      refuses.load(ordering: .relaxed)
        ? .refused(Int(reason.rule.status), reason.name) : .accepted()
    }
    let gateways = try rig.gateways([refusing, .init()])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways) { $0.pool.minimum = 2 }
    for number in 0..<100 {
      try rig.sendMany(1, from: number)
      if number % 10 == 9 { _ = try rig.receipts(number + 1) }
    }
    refuses.store(true, ordering: .relaxed)
    try rig.sendMany(100, from: 100)
    try expectDelivered(200, rig, sender)
  }

  private func expectDelivered(
    _ count: Int, _ rig: SenderRig, _ sender: RunningSender
  ) throws {
    let receipts = try rig.receipts(count)
    #expect(Set(receipts.map(\.apnsID)).count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && ($0.attempts ?? 9) <= 2 })
    #expect(sender.counter("retried") == 0 && sender.counter("diverted") == 0)
    #expect(sender.counter("rejected") == 0 && sender.counter("dead_lettered") == 0)
  }

  @Test func `retry-after in an outage: no push goes out again earlier, in seconds or as a date`()
    throws
  {
    for isDate in [false, true] {
      let isOut = Atomic(true)
      let gateway = try ScriptedGateway { request in
        guard isOut.load(ordering: .relaxed) else { return .accepted() }
        let wait = isDate ? HTTPDates.text(secondsFromNow: 5) : "4"
        return .answer(
          .init(status: 503, body: #"{"reason":"ServiceUnavailable"}"#, retryAfter: wait))
      }
      let rig = try SenderRig()
      try rig.publishToken()
      let sender = try rig.startSender(loops: 1, answering: gateway)
      try rig.sendMany(100)
      #expect(eventually { sender.counter("retried") > 0 })
      isOut.store(false, ordering: .relaxed)
      let receipts = try rig.receipts(100, withinMilliseconds: 60_000)
      #expect(receipts.allSatisfy { $0.outcome == .delivered })
      let times = Dictionary(grouping: gateway.requests, by: \.id).mapValues { $0.map(\.at) }
      for (id, sends) in times {
        for (earlier, later) in zip(sends, sends.dropFirst()) {
          #expect(later - earlier >= 3_000, "\(id) after \(later - earlier) ms")
        }
      }
    }
  }
}

/// Times as header fields have them.
enum HTTPDates {
  static func text(secondsFromNow seconds: Int64) -> String {
    var time = time_t(WallClock.seconds() + seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 64)
    strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
