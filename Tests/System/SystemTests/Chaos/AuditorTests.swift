// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records
import TestSupport
import Testing

@testable import ChaosSuite

/// Tests of the auditor itself: one that never finds anything proves nothing.
@Suite struct AuditorTests {
  private let auditor = Auditor()
  private let id = NotificationID(high: 1, low: 2)
  private let other = NotificationID(high: 1, low: 3)

  private func receipt(
    _ outcome: String, _ id: NotificationID, at: Int = 1_000, _ more: String = ""
  ) throws {
    let text = "{\"outcome\":\"\(outcome)\",\"apns_id\":\"\(id)\",\"at\":\(at)\(more)}"
    try Array(text.utf8).withUnsafeBytes { auditor.receipt(try Receipt($0, parser: JSONParser())) }
  }

  private func ask(_ ids: NotificationID..., offset: Int64 = 0) {
    auditor.ledger.produced(partition: 0, offset: offset, ids: ids)
  }

  @Test func `a notification without receipt or dead letter is lost`() throws {
    ask(id, other)
    try receipt("delivered", id)
    #expect(auditor.ledger.missing == 1)
    auditor.deadLetter(nil, id: other, isOneToken: false, isRequest: false, reason: "x")
    #expect(auditor.ledger.missing == 0)
  }

  @Test func `a device that registered later must not be dead`() {
    let device = DemoGateway.Device(token: "ab", app: "com.example.a")
    auditor.gatewayForgot(device)
    #expect(auditor.invalid == [device])
    auditor.registeredAgain(device)
    #expect(auditor.invalid == [])
    #expect(auditor.unregistered == [device])
  }

  @Test func `an answer that never came is the slowest of all, a repeat needs none`() throws {
    let third = NotificationID(high: 1, low: 4)
    let fourth = NotificationID(high: 1, low: 5)
    ask(id, other, third, fourth)
    for one in [id, other, third] {
      auditor.laneRecord(one, arrival: (at: 400, app: "com.example.a"))
    }
    auditor.laneRecord(fourth, arrival: (at: 400, app: "com.example.b"))
    try receipt("delivered", id)
    try receipt("suppressed", third)
    let times = auditor.answerTimes(arrived: 400...500, otherThan: "com.example.b")
    #expect(times == [600, .max])
    #expect(auditor.answerTimes(arrived: 401...500, otherThan: "com.example.b") == [])
  }

  @Test func `a repeat of an unknown notification counts as lost`() throws {
    ask(id)
    try receipt("deduplicated", id)
    #expect(auditor.onlyDeduplicated == [id])
    try receipt("delivered", id)
    #expect(auditor.onlyDeduplicated == [])
  }

  @Test func `a push with a provider token too soon after another one is counted`() {
    auditor.gatewayAnswered(id, status: 429, reason: "TooManyRequests")
    #expect(auditor.tokenRefusals == 0)
    auditor.gatewayAnswered(id, status: 429, reason: "TooManyProviderTokenUpdates")
    #expect(auditor.tokenRefusals == 1)
  }

  @Test func `a delivery that the gateway does not know is untrue`() throws {
    ask(id)
    try receipt("delivered", id)
    #expect(auditor.untrue == [id])
    auditor.gatewayAnswered(id, status: 200, reason: nil)
    #expect(auditor.untrue == [])
  }

  @Test func `a rejection must name the gateway's own reason`() throws {
    ask(id)
    try receipt("rejected", id, ",\"status\":410,\"reason\":\"Unregistered\"")
    auditor.gatewayAnswered(id, status: 400, reason: "BadDeviceToken")
    #expect(auditor.untrue == [id])
    auditor.gatewayAnswered(id, status: 410, reason: "Unregistered")
    #expect(auditor.untrue == [])
  }

  @Test func `the earliest receipt is the first, in whatever order they are read`() throws {
    ask(id)
    auditor.gatewayAnswered(id, status: 200, reason: nil)
    try receipt("delivered", id, at: 2_000)
    #expect(auditor.untrue == [])
    try receipt("rejected", id, at: 1_000, ",\"status\":410,\"reason\":\"Unregistered\"")
    #expect(auditor.untrue == [id])
  }

  @Test func `only receipts of the time in which the gateway's list was lost are excused`() throws {
    ask(id, other)
    auditor.gatewayWasBlind(500...1_500)
    try receipt("delivered", id, at: 1_000)
    try receipt("delivered", other, at: 1_501)
    #expect(auditor.untrue == [other])
  }

  @Test func `two acceptances, or two final receipts, are a duplicate`() throws {
    ask(id, other)
    auditor.gatewayAnswered(id, status: 200, reason: nil)
    auditor.gatewayAnswered(id, status: 200, reason: nil)
    try receipt("delivered", id)
    #expect(auditor.ledger.totals.duplicates == 1)
    try receipt("expired", other)
    try receipt("expired", other)
    #expect(auditor.ledger.totals.duplicates == 2)
    try receipt("deduplicated", other)
    #expect(auditor.ledger.totals.duplicates == 2)
  }

  @Test func `an offset must not pass a record that nothing closes`() throws {
    let place = DeadLetterOrigin(topic: "push.notifications", partition: 3, offset: 7)
    #expect(!auditor.isClosed(id, at: place))
    #expect(!auditor.isClosed(nil, at: place))
    auditor.laneRecord(id)
    #expect(!auditor.isClosed(id, at: place))
    auditor.laneRecord(id, retry: "push.retries.5s")
    #expect(auditor.isClosed(id, at: place))
    auditor.deadLetter(place, id: nil, isOneToken: false, isRequest: false, reason: "x")
    #expect(auditor.isClosed(nil, at: place))
  }

  @Test func `ingest must not commit a request whose notifications are on no lane`() throws {
    ask(id, other, offset: 5)
    #expect(auditor.overtakenRequests(partition: 0, below: 5) == 0)
    #expect(auditor.overtakenRequests(partition: 0, below: 6) == 2)
    #expect(auditor.overtakenRequests(partition: 1, below: 6) == 0)
    auditor.laneRecord(id)
    try receipt("suppressed", other)
    #expect(auditor.overtakenRequests(partition: 0, below: 6) == 0)
  }

  @Test func `what is called expired must be of no more use`() throws {
    ask(id)
    try receipt("expired", id, at: 100_000)
    #expect(auditor.untrue == [id], "its end is unknown")
    auditor.laneRecord(id, end: 105_001)
    #expect(auditor.untrue == [id])
    auditor.laneRecord(id, retry: "push.retries.5s", end: 105_000)
    #expect(auditor.untrue == [], "the shortest retry would come too late")
  }

  @Test func `a notification that a sender gave up is distinguished from poison`() {
    ask(id)
    auditor.deadLetter(nil, id: other, isOneToken: false, isRequest: false, reason: "x")
    auditor.deadLetter(nil, id: id, isOneToken: true, isRequest: true, reason: "invalid_token")
    #expect(auditor.abandoned == [])
    auditor.deadLetter(nil, id: id, isOneToken: false, isRequest: false, reason: "x")
    #expect(auditor.abandoned == [id])
  }

  @Test func `a device that is passed over must have been called unregistered`() throws {
    ask(id)
    try receipt("suppressed", id, ",\"app\":\"com.example.a\",\"token\":\"00ff\"")
    let device = DemoGateway.Device(token: "00ff", app: "com.example.a")
    #expect(auditor.wronglySuppressed == [device])
    auditor.gatewayForgot(device)
    #expect(auditor.wronglySuppressed == [])
  }

  @Test func `where the gateway's list names no reason the status must agree`() throws {
    ask(id)
    try receipt("rejected", id, ",\"status\":400,\"reason\":\"BadMoonPhase\"")
    auditor.gatewayAnswered(id, status: 400, reason: "BadTopic")
    #expect(auditor.untrue == [id])
    auditor.gatewayAnswered(id, status: 403, reason: nil)
    #expect(auditor.untrue == [id])
    auditor.gatewayAnswered(id, status: 400, reason: nil)
    #expect(auditor.untrue == [])
  }

  @Test func `poison on topics without dead letters is known and need not become one`() {
    let place = DeadLetterOrigin(topic: "push.receipts", partition: 0, offset: 9)
    #expect(!auditor.isPlanted(place))
    auditor.poisoned(place, mustEnd: false)
    #expect(auditor.isPlanted(place))
    #expect(auditor.undigested == [])
  }

  @Test func `poison must become a dead letter, whole`() {
    let place = DeadLetterOrigin(topic: "push.requests", partition: 0, offset: 9)
    auditor.poisoned(place)
    auditor.deadLetter(place, id: nil, isOneToken: true, isRequest: true, reason: "x")
    #expect(auditor.undigested == [place])
    auditor.deadLetter(place, id: nil, isOneToken: false, isRequest: true, reason: "x")
    #expect(auditor.undigested == [])
  }

  @Test func `a sender's dead letters are distinguished from those of ingest`() {
    auditor.deadLetter(nil, id: nil, isOneToken: true, isRequest: true, reason: "invalid_token")
    #expect(auditor.senderDeadLetters == [:])
    auditor.deadLetter(nil, id: id, isOneToken: false, isRequest: false, reason: "attempts")
    #expect(auditor.senderDeadLetters == ["attempts": 1])
  }

  @Test func `requests that the gateway could not take are counted, whatever became of them`() {
    auditor.gatewayAnswered(id, status: 503, reason: "ServiceUnavailable")
    auditor.gatewayAnswered(id, status: 503, reason: "ServiceUnavailable")
    auditor.gatewayAnswered(id, status: 200, reason: nil)
    #expect(auditor.unavailable == 2)
    #expect(auditor.accepted == 1)
  }

  @Test func `requests settle in the order in which they were acknowledged`() throws {
    ask(id, offset: 0)
    ask(other, offset: 1)
    try receipt("delivered", other)
    #expect(auditor.ledger.settledRequests() == 0)
    try receipt("delivered", id)
    #expect(auditor.ledger.settledRequests() == 2)
  }

  @Test func `a request settles while it waits on the 15-minute topic, if it may, and is not over`()
    throws
  {
    ask(id, offset: 0)
    ask(other, offset: 1)
    try receipt("delivered", other)
    #expect(auditor.lastDue == nil)
    auditor.laneRecord(id, retry: "push.retries.5s")
    #expect(auditor.ledger.settledRequests(auditor.waitsLong) == 0)
    auditor.laneRecord(id, retry: "push.retries.15m", due: 900_000)
    #expect(auditor.ledger.settledRequests() == 0)
    #expect(auditor.ledger.settledRequests(auditor.waitsLong) == 2)
    #expect(auditor.ledger.missing == 1)
    #expect(auditor.lastDue == 900_000)
    try receipt("delivered", id)
    #expect(auditor.lastDue == nil)
  }
}

@Suite struct DuplicateBoundTests {
  @Test func `a bound is seconds of traffic for each fault`() {
    let bound = DuplicateBound(seconds: 2, reason: "")
    let faults: [Int64] = [10_000, 20_000, 30_000]
    #expect(bound.limit(faults: faults, perSecond: 100, accepted: []) == 600)
    let short = DuplicateBound(seconds: 0.5, reason: "")
    #expect(short.limit(faults: faults, perSecond: 101, accepted: []) == 153)
    let none = DuplicateBound.none("")
    #expect(none.limit(faults: faults, perSecond: 100, accepted: [10_001]) == 0)
  }

  /// A load of 100 per second, and 4,000 in a second after the second of three faults.
  @Test
  func
    `a sender that catches up may repeat what it sends in those seconds, not what the load makes`()
  {
    let steady = (0..<4_000).map { Int64($0) * 10 }
    let burst = (0..<4_000).map { 22_000 + Int64($0) / 4 }
    let faults: [Int64] = [10_000, 20_000, 30_000]
    func limit(_ seconds: Double) -> Int {
      DuplicateBound(seconds: seconds, reason: "").limit(
        faults: faults, perSecond: 100, accepted: (steady + burst).shuffled())
    }
    #expect(limit(2) == 200 + 4_200 + 200)
    #expect(limit(0.5) == 50 + 2_050 + 50)
  }

  @Test func `docs has every scenario with its bound, as the suite has it`() throws {
    let document = try Repository.text("docs/guarantees.md")
    for scenario in Scenario.all {
      let hasRow = document.contains(scenario.documentation)
      #expect(hasRow, "docs/guarantees.md lacks: \(scenario.documentation)")
    }
  }

  @Test func `every scenario has a name of its own and says why its bound is what it is`() {
    let names = Scenario.all.map(\.name)
    #expect(Set(names).count == names.count)
    for scenario in Scenario.all { #expect(!scenario.bound.reason.isEmpty) }
  }
}
