// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand
import Records
import Telemetry
import Testing

@Suite struct DemoLedgerTests {
  private let ledger = DemoLedger()

  private func id(_ number: UInt64) -> NotificationID { NotificationID(high: 1, low: number) }

  @Test func `a request without any record is lost`() {
    ledger.produced(partition: 0, offset: 0, ids: [id(1), id(2)])
    #expect(ledger.missing == 2)
    ledger.receipt(id(1), .delivered, reason: nil)
    #expect(ledger.missing == 1)
    #expect(ledger.totals.lost == 1)
  }

  @Test func `any receipt accounts for a notification`() {
    for (number, outcome) in Outcome.ofPushes.enumerated() {
      ledger.produced(partition: 0, offset: Int64(number), ids: [id(UInt64(number))])
      ledger.receipt(id(UInt64(number)), outcome, reason: nil)
    }
    #expect(ledger.missing == 0)
  }

  @Test func `a request that names no notification must be a dead letter`() {
    ledger.produced(partition: 3, offset: 7, ids: [])
    #expect(ledger.missing == 1)
    ledger.deadLetter(partition: 3, offset: 7, isOneToken: false, reason: "invalid_request")
    #expect(ledger.missing == 0)
    #expect(ledger.totals.deadLettered == 1)
  }

  @Test func `a dead letter may be read before the request's delivery report`() {
    ledger.deadLetter(partition: 3, offset: 7, isOneToken: false, reason: "invalid_request")
    ledger.deadLetter(partition: 3, offset: 8, isOneToken: true, reason: "invalid_token")
    ledger.produced(partition: 3, offset: 7, ids: [])
    ledger.produced(partition: 3, offset: 8, ids: [id(1), id(2)])
    ledger.receipt(id(1), .delivered, reason: nil)
    #expect(ledger.missing == 0)
  }

  @Test func `one bad token excuses one notification, not two`() {
    ledger.produced(partition: 0, offset: 0, ids: [id(1), id(2), id(3)])
    ledger.deadLetter(partition: 0, offset: 0, isOneToken: true, reason: "invalid_token")
    ledger.receipt(id(1), .delivered, reason: nil)
    #expect(ledger.missing == 1)
  }

  @Test func `a sender's dead letter accounts for its notification`() {
    ledger.produced(partition: 0, offset: 0, ids: [id(1)])
    ledger.deadLetter(id(1), reason: "retries_exhausted")
    #expect(ledger.missing == 0)
    #expect(ledger.deadLetters == ["retries_exhausted": 1])
  }

  @Test func `a second acceptance is a duplicate, a deduplicated repeat is none`() {
    for number in 1...2 { ledger.produced(partition: 0, offset: Int64(number), ids: [id(1)]) }
    ledger.receipt(id(1), .delivered, reason: nil)
    ledger.receipt(id(1), .deduplicated, reason: nil)
    ledger.answered(id(1), status: 200)
    #expect(ledger.totals.duplicates == 0)
    #expect(ledger.totals.deduplicated == 1)
    ledger.answered(id(1), status: 200)
    #expect(ledger.totals.duplicates == 1)
    #expect(ledger.totals.delivered == 1)
  }

  @Test func `a repeat for a device that died meanwhile is suppressed, not a duplicate`() {
    for number in 1...3 { ledger.produced(partition: 0, offset: Int64(number), ids: [id(1)]) }
    ledger.receipt(id(1), .suppressed, reason: nil)
    ledger.receipt(id(1), .rejected, reason: "Unregistered")
    ledger.receipt(id(1), .suppressed, reason: nil)
    ledger.answered(id(1), status: 410)
    #expect(ledger.totals.duplicates == 0)
    #expect(ledger.totals.suppressed == 2)
    #expect(ledger.totals.rejected == ["Unregistered": 1])
  }

  @Test func `the first outcome counts, and each reason is counted`() {
    ledger.produced(partition: 0, offset: 0, ids: [id(1), id(2), id(3)])
    for number: UInt64 in 1...2 {
      ledger.receipt(id(number), .rejected, reason: "Unregistered")
      ledger.answered(id(number), status: 410)
    }
    ledger.receipt(id(3), .rejected, reason: "BadDeviceToken")
    ledger.answered(id(3), status: 400)
    #expect(ledger.totals.rejected == ["Unregistered": 2, "BadDeviceToken": 1])
    #expect(ledger.totals.unconfirmed == 0)
  }

  @Test func `a receipt that the gateway's list does not bear out is noticed`() {
    ledger.produced(partition: 0, offset: 0, ids: [id(1), id(2)])
    ledger.receipt(id(1), .delivered, reason: nil)
    ledger.receipt(id(2), .rejected, reason: "Unregistered")
    #expect(ledger.totals.unconfirmed == 2)
    ledger.answered(id(1), status: 200)
    ledger.answered(id(2), status: 410)
    #expect(ledger.totals.unconfirmed == 0)
  }

  @Test func `receipts of other requests are not counted as this run's`() {
    ledger.receipt(id(9), .delivered, reason: nil)
    #expect(ledger.totals.delivered == 0)
  }

  @Test func `a receipt may be read before the request's delivery report`() {
    ledger.receipt(id(1), .delivered, reason: nil)
    ledger.produced(partition: 0, offset: 0, ids: [id(1)])
    #expect(ledger.missing == 0)
    #expect(ledger.totals.delivered == 1)
  }

  @Test func `a lost notification is listed with the gateway's record`() {
    ledger.produced(partition: 2, offset: 5, ids: [id(1)])
    ledger.answered(id(1), status: 200)
    #expect(ledger.lostLines == ["\(id(1)) request=2/5 accepted=1 refused=0"])
  }
}

@Suite struct DemoReportTests {
  @Test func `the JSON line has exactly the promised names`() throws {
    var report = DemoReport()
    report.totals.requests = 20_000
    report.totals.rejected = ["Unregistered": 3]
    report.notifications = 500
    report.milliseconds = 2_000
    report.latency.record(40)
    let root = try JSONDocument(report.json).root
    #expect(
      root.object?.keys == [
        "requests", "notifications", "delivered", "rejected", "expired", "suppressed",
        "deduplicated", "dead_lettered", "invalid_tokens_recorded", "invalid_tokens_expected",
        "duplicates", "lost", "notifications_per_second", "latency_ms",
      ])
    #expect(root["rejected"]?["Unregistered"]?.int == 3)
    #expect(root["notifications_per_second"]?.anyNumber == 250)
    #expect(root["latency_ms"]?["p99"]?.int == 40)
    #expect(!report.json.contains("\n"))
  }

  @Test func `lost notifications, wrong tokens and contradictions are problems, nothing else is`() {
    var report = DemoReport()
    report.totals.duplicates = 5
    #expect(report.problems.isEmpty)
    report.totals.lost = 1
    report.invalidTokensDiffering = 1
    report.totals.unconfirmed = 1
    #expect(report.problems.count == 3)
  }
}
