// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct DoctorReportTests {
  private let topic = Finding.error(.topic, "push.receipts", "does not exist", remedy: "create it")
  private let clock = Finding.ok(.clock, "this machine", "is synchronized")

  @Test func `what several programs found stands once, by subject, with their names`() {
    let report = DoctorReport([
      ("ingest", [topic]), ("sender", [clock, topic, topic]), ("signer", [clock]),
    ])
    #expect(report.entries.map(\.finding) == [clock, topic])
    #expect(report.entries.map(\.programs) == [["sender", "signer"], ["ingest", "sender"]])
    #expect(report.summary == "1 error, 0 warnings, 1 ok")
    #expect(DoctorReport([]).summary == "0 errors, 0 warnings, 0 ok")
  }

  @Test func `programs with another prefix are an error, with another address a warning`() {
    func shared(_ kafka: String, _ prefix: String) -> [Finding] {
      [.ok(.settings, "kafka", kafka), .ok(.settings, "topic-prefix", prefix)]
    }
    let same = DoctorReport([("ingest", shared("a:1", "p.")), ("sender", shared("a:1", "p."))])
    #expect(same.entries.count == 2 && same.count(.ok) == 2)
    let other = DoctorReport([
      ("ingest", shared("a:1", "p.")), ("sender", shared("a:1", "q.")),
      ("signer", shared("b:1", "q.")),
    ])
    let found = other.entries.filter { $0.finding.status != .ok }
    #expect(found.map(\.finding.status) == [.warning, .error])
    #expect(
      found.map(\.finding.message) == [
        "differs between programs: a:1 (ingest, sender); b:1 (signer)",
        "differs between programs: p. (ingest); q. (sender, signer)",
      ])
  }

  @Test func `lists of addresses that lead to one cluster are no difference`() {
    func warnings(_ lists: String...) -> Int {
      DoctorReport(lists.enumerated().map { ("\($0)", [.ok(.settings, "kafka", $1)]) })
        .count(.warning)
    }
    #expect(warnings("a:1,b:1", "b:1,a:1", "b:1") == 0)
    #expect(warnings("a:1,b:1", "c:1,d:1") == 1)
    #expect(warnings("a:1", "aa:1") == 1)
  }

  @Test func `a finding in words: aligned, and its remedy on a line of its own`() {
    #expect(clock.text == "ok       clock        this machine: is synchronized")
    #expect(
      topic.text
        == "error    topic        push.receipts: does not exist\n                      → create it")
    #expect(Finding.Status.allCases.sorted() == [.ok, .warning, .error])
  }
}
