// SPDX-License-Identifier: Apache-2.0
import Contract
import Telemetry
import Testing

@testable import Sender

/// What is counted of destinations, and stays when they are closed.
@Suite struct FormerAnswersTests {
  private func destination(
    _ index: Int, _ credential: String, accepted: Int, isNamed: Bool = true
  ) -> LoopStatus.Destination {
    var destination = LoopStatus.Destination(
      index: index, credential: credential, environment: .production, hasToken: true,
      trouble: nil, waiting: 0, held: 0, open: 0, accepted: accepted, refused: 2, retriesLeft: 10,
      refusals: [])
    destination.isNamed = isNamed
    return destination
  }

  /// The lines of the page that count answers, in any order.
  private func page(_ status: LoopStatus) -> Set<String> {
    let lines = MetricText.page(status.samples).split(separator: "\n").map(String.init)
    return Set(lines.filter { $0.hasPrefix("martlet_sender_responses_total{") })
  }

  private func line(_ credential: String, _ result: String, _ count: Int) -> String {
    "martlet_sender_responses_total{credential=\"\(credential)\",environment=\"production\","
      + "result=\"\(result)\"} \(count)"
  }

  @Test func `a credential that is withdrawn and comes back goes on counting`() {
    var status = LoopStatus()
    status.destinations = [destination(0, "T/A/any", accepted: 7)]
    let before = [line("T/A/any", "accepted", 7), line("T/A/any", "refused", 2)]
    #expect(page(status) == Set(before))
    status.destinations = []
    status.former.add(7, refused: 2, "T/A/any", .production)
    #expect(page(status) == Set(before))
    status.destinations = [destination(1, "T/A/any", accepted: 1)]
    #expect(
      page(status) == [line("T/A/any", "accepted", 8), line("T/A/any", "refused", 4)])
  }

  @Test func `the series that many share does not fall when one of them is closed`() {
    var status = LoopStatus()
    status.destinations = [
      destination(0, "T/A/any", accepted: 7, isNamed: false),
      destination(1, "T/B/any", accepted: 9, isNamed: false),
    ]
    let before = [line("other", "accepted", 16), line("other", "refused", 4)]
    #expect(page(status) == Set(before))
    status.destinations.removeFirst()
    status.former.add(7, refused: 2, FormerAnswers.other, .production)
    #expect(page(status) == Set(before))
    for number in 0..<1_000 { status.former.add(number, refused: 0, "other", .production) }
    #expect(page(status).count == 2)
  }

  @Test func `a push that a destination had accepted before it was closed was accepted`() {
    var first = LoopStatus()
    (first.at, first.destinations) = (1_000, [destination(0, "T/A/any", accepted: 7)])
    var second = LoopStatus()
    second.at = 4_000
    second.former.add(8, refused: 2, "T/A/any", .production)
    second.noteBlocked(since: first)
    #expect(second.quiet == 0)
    var third = second
    third.at = 5_000
    third.noteBlocked(since: second)
    #expect(third.quiet == 1_000)
  }
}
