// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Testing

@Suite struct LaneSettingTests {
  @Test(arguments: [
    "transactional:8:1h:20%,bulk:1:1d", "a:1:15m", "code:10:15m:30%,news:3:1d:10%,sale:1:7d",
  ])
  func `lanes are read back as they are written`(text: String) throws {
    let lanes = try Lanes(texts: text.split(separator: ",").map(String.init))
    #expect(lanes.texts.joined(separator: ",") == text)
  }

  @Test func `what is left out has a default`() throws {
    let lanes = try Lanes(texts: ["a:2", "b:1:2h"])
    #expect(
      lanes.rules == [
        .init("a", weight: 2, maxAge: 86_400_000), .init("b", weight: 1, maxAge: 7_200_000),
      ])
    #expect(try Lanes(texts: Lanes.standard.texts) == .standard)
  }

  @Test(arguments: [
    ("a", "must be a list of NAME:WEIGHT"), ("a:", "must be a list of NAME:WEIGHT"),
    ("a:x", "must be a list of NAME:WEIGHT"), ("a:1:2h:5%:6", "must be a list of NAME:WEIGHT"),
    ("a:1:", "a: the age must be a time from 1s to 30d"), ("a:1:31d", "a: the age must be a time"),
    ("a:1:1h:5", "a: the reserved share must be a number with %"),
    ("a:1:1h:95%", "the reserved share must be 0% to 90%"),
  ])
  func `a text that is no lane says what is wrong`(text: String, problem: String) {
    let found = #expect(throws: Lanes.Problem.self) { try Lanes(texts: [text]) }
    #expect(found?.text.hasPrefix(problem) == true, "\(found?.text ?? "")")
  }
}
