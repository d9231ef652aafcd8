// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// The newest state wins, with real records: keys, places in the lane, piles.
@Suite(.serialized) struct NewestStateDeliveryTests {
  private func state(
    _ number: Int, _ more: String..., created: Int64 = WallClock.milliseconds()
  ) -> String {
    SenderRig.envelope(
      id: SenderRig.id(number), created: created, body: #"{"aps":{"alert":"\#(number)"}}"#,
      carrying: more)
  }

  private func outcomes(_ receipts: [Receipt]) -> [Int: Outcome] {
    var outcomes: [Int: Outcome] = [:]
    for number in 0..<40 {
      let id = NotificationID(SenderRig.id(number))
      outcomes[number] = receipts.first { $0.apnsID == id }?.outcome
    }
    return outcomes
  }

  @Test
  func `a retry comes back by its lane with its attempts, unless a newer one was sent`() throws {
    // The first one of the first device is throttled; the other device is throttled once.
    let throttled = Mutex(Set([SenderRig.id(1), SenderRig.id(11)]))
    let gateway = try ScriptedGateway { request in
      let isFirst = throttled.withLock { $0.remove(request.id) != nil }
      return isFirst ? .refused(429, "TooManyRequests") : .answer(.init(identifier: request.id))
    }
    let rig = try SenderRig(hasToken: true)
    let sender = try rig.startSender(loops: 1, answering: gateway)
    let (one, other) = (SenderRig.token(1), SenderRig.token(2))
    try rig.send(one, state(1, "supersede=score"))
    try rig.send(other, state(11, "supersede=score"))
    let parked = try rig.fixture.read(rig.names.retries(.seconds5), count: 2)
    #expect(parked.count == 2)
    #expect(parked.allSatisfy { $0.value?.contains("\tsupersede=score\tposition=") == true })
    #expect(parked.allSatisfy { $0.value?.contains("/1/5s\n") == true })
    // Its device is throttled, so it waits, too; it comes back after the one before it.
    try rig.send(one, state(2, "supersede=score"))
    let receipts = try rig.receipts(3)
    #expect(outcomes(receipts) == [1: .superseded, 2: .delivered, 11: .delivered])
    let late = try #require(receipts.first { $0.apnsID == NotificationID(SenderRig.id(11)) })
    #expect(late.attempts == 2)
    let old = try #require(receipts.first { $0.outcome == .superseded })
    #expect(old.reason == "newer_push" && old.attempts == 1)
    #expect(sender.counter("returned") == 3 && sender.counter("returned_unknown") == 0)
    // Those of the lane, and what came back to it.
    #expect(try eventually { try rig.committedDone() == 3 + 3 })
  }

  @Test func `a silent update of priority 5 takes neither an alert nor priority 10 away`() throws {
    let rig = try SenderRig(partitions: 1)
    let sender = try rig.startSender(loops: 1)
    func send(_ number: Int, silent: Bool, priority: Int) throws {
      let more = silent ? ["silent=1"] : []
      let line = SenderRig.envelope(
        id: SenderRig.id(number),
        body: #"{"aps":{"event":"update","timestamp":1795000000,"content-state":{}}}"#,
        carrying: ["supersede=activity"] + more)
      try rig.send(
        SenderRig.token(number / 10),
        line.replacing(
          "\talert\t10\t", with: ".push-type.liveactivity\tliveactivity\t\(priority)\t"))
    }
    // Of each device the first one is followed by silent ones of priority 5.
    for (device, first) in [(false, 10), (true, 10), (false, 5), (true, 5)].enumerated() {
      try send(device * 10, silent: first.0, priority: first.1)
      // Ids whose last bits alone differ count as one push.
      for number in 1...3 { try send(device * 10 + 2 * number, silent: true, priority: 5) }
    }
    // They wait for a credential.
    #expect(eventually { sender.counter("taken") == 16 })
    try rig.publishToken()
    let outcomes = outcomes(try rig.receipts(16))
    for device in 0..<4 {
      let ends = (0..<4).map { outcomes[device * 10 + 2 * $0] }
      #expect(
        ends == [device == 3 ? .superseded : .delivered, .superseded, .superseded, .delivered],
        "\(device): \(ends)")
    }
  }

  @Test func `another sender, started anew, knows from the log what was sent before`() throws {
    let throttled = Mutex(Set([SenderRig.id(1)]))
    let gateway = try ScriptedGateway { request in
      let isFirst = throttled.withLock { $0.remove(request.id) != nil }
      return isFirst
        ? .refused(503, "ServiceUnavailable", retryAfter: 4)
        : .answer(.init(identifier: request.id))
    }
    let rig = try SenderRig(hasToken: true)
    let first = try rig.startSender(loops: 1, answering: gateway)
    let token = SenderRig.token(1)
    // Others show that the gateway is well.
    try rig.sendMany(20..<30)
    try rig.send(token, state(1, "supersede=score"))
    _ = try rig.receipts(of: 20..<30)
    try rig.send(token, state(2, "supersede=score"))
    _ = try rig.receipts(11)
    #expect(first.stop() == nil)
    try rig.startSender(loops: 1, answering: gateway)
    let receipts = try rig.receipts(12)
    let ours = outcomes(receipts).filter { $0.key < 20 }
    #expect(ours == [1: .superseded, 2: .delivered])
  }

  @Test
  func `of a pile with one collapse id only the newest goes out, and of fresh ones all`() throws {
    let rig = try SenderRig(partitions: 1)
    let old = WallClock.milliseconds() - 60_000
    for number in 1...30 {
      try rig.send(
        SenderRig.token(number % 3),
        state(number, "apns-collapse-id=score", created: number <= 24 ? old : old + 600_000))
    }
    for number in 31...33 { try rig.send(SenderRig.token(0), state(number, created: old)) }
    try rig.startSender()
    try rig.publishToken()
    let outcomes = outcomes(try rig.receipts(33))
    #expect((1...24).allSatisfy { outcomes[$0] == .superseded })
    #expect((25...33).allSatisfy { outcomes[$0] == .delivered }, "\(outcomes)")
  }
}
