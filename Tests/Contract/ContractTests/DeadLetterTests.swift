// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing
import Waiting

/// The headers of dead letters, which several processes write and read.
@Suite struct DeadLetterTests {
  private let origin = DeadLetterOrigin(topic: "push.requests", partition: 3, offset: 17)

  private func decoded(_ headers: [(name: String, value: String)]) -> DeadLetter {
    DeadLetter { name in headers.last { $0.name == name }?.value }
  }

  @Test func `headers have the documented names and forms`() {
    var letter = DeadLetter(
      .invalidToken, "tokens: is too long", by: .ingest, from: origin, at: 1_795_000_000_000)
    letter.token = "0a"
    letter.requestID = "order-8812"
    #expect(
      letter.headers.map { "\($0.name)=\($0.value)" } == [
        "martlet-reason=invalid_token", "martlet-detail=tokens: is too long",
        "martlet-stage=ingest", "martlet-attempts=0", "martlet-origin=push.requests/3/17",
        "martlet-at=1795000000000", "martlet-token=0a", "martlet-request-id=order-8812",
      ])
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `a dead letter that is written reads as the same`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func text() -> String {
      let scalars: [Unicode.Scalar] = ["a", "\"", "\n", "\0", "é", "🎉", "\t", "/"]
      var text = ""
      for _ in 0..<Int.random(in: 0...80, using: &random) {
        text.unicodeScalars.append(scalars.randomElement(using: &random)!)
      }
      return text
    }
    var letter = DeadLetter(
      DeadLetterReason.allCases.randomElement(using: &random)!, text(),
      by: [.ingest, .sender, .feedback].randomElement(using: &random)!,
      attempts: Int.random(in: 0...65_535, using: &random),
      from: DeadLetterOrigin(
        topic: "push.x", partition: .random(in: 0...Int32.max, using: &random),
        offset: .random(in: 0...Int64.max, using: &random)),
      at: .random(in: 100_000_000_000...OutsideTime.last, using: &random))
    if Bool.random(using: &random) { letter.token = text() }
    if Bool.random(using: &random) { letter.requestID = text() }
    if Bool.random(using: &random) { letter.apnsID = text() }
    #expect(decoded(letter.headers) == letter)
  }

  @Test func `headers that are missing or of another form are absent`() {
    #expect(decoded([]).reason == "")
    #expect(decoded([]).origin == nil)
    let odd = decoded([
      ("martlet-attempts", "many"), ("martlet-at", "today"), ("martlet-origin", "push.requests/3"),
      ("martlet-reason", "of_tomorrow"),
    ])
    #expect(odd.attempts == nil && odd.at == nil && odd.origin == nil)
    #expect(odd.reason == "of_tomorrow")
    for text in [
      "", "a/b/c", "push.requests//1", "a/1/2/3", "push.requests/3/x", "a b/3/4", "/3/4", "é/3/4",
    ] {
      #expect(DeadLetterOrigin(text) == nil, "\(text)")
    }
  }

  @Test func `a header is never longer than its limit, and ends with a whole character`() {
    let long = String(repeating: "🎉", count: 500)
    var letter = DeadLetter(.invalidRequest, "x" + long, by: .ingest, from: origin, at: 1)
    letter.token = long
    letter.requestID = "ab" + long
    for header in letter.headers { #expect(header.value.utf8.count <= DeadLetterHeader.longest) }
    let read = decoded(letter.headers)
    #expect(read.detail.utf8.count == 1_021 && ("x" + long).hasPrefix(read.detail))
    #expect(read.token?.utf8.count == 1_024)
  }

  @Test func `the detail says what was cut, however long it is`() {
    let cut = DeadLetterCut(key: 3, value: 1_000_000)
    var letter = DeadLetter(
      .invalidFeedback, String(repeating: "y", count: 5_000), by: .feedback, from: origin, at: 1)
    letter.note(cut)
    #expect(letter.detail.hasSuffix("y" + cut.remark))
    #expect(letter.detail.utf8.count == DeadLetterHeader.longest)
    #expect(DeadLetterCut.isRemarked(decoded(letter.headers).detail))
    let before = letter
    letter.note(DeadLetterCut(key: 3, value: 4))
    #expect(letter == before)
  }

  @Test func `the letters about one record keep a bounded part of it together`() {
    var written = 0
    var whole = 0
    for _ in 0..<1_000 {
      let cut = DeadLetterCut(key: 3, value: 800_000, written: written)
      if cut.remark.isEmpty { whole += 1 } else { #expect(DeadLetterCut.isRemarked(cut.remark)) }
      written += cut.key + cut.value
    }
    #expect(whole == 20)
    #expect(written < DeadLetterCut.mostOfRecord + 1_000 * 2 * DeadLetterHeader.longest)
    #expect(DeadLetterCut(key: 3, value: 900, written: .max / 2).remark.isEmpty)
  }
}
