// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Testing

@testable import Records

/// What is left of scheduled requests when a person is forgotten.
@Suite struct ErasedRequestTests {
  private let parser = JSONParser()

  private func scheduled(_ json: String, users: [ExactText] = []) -> [UInt8] {
    var request = ScheduledRequest(due: 9, accepted: 5, requeuedAt: nil)
    if !users.isEmpty { request.recipients = Recipients(type: "alert", users: users) }
    return Array(json.utf8).withUnsafeBytes { request.value($0) }
  }

  private func erased(
    _ value: [UInt8], id: ExactText = "r", user: ExactText = "ann", tokens: Set<ExactText> = []
  ) -> ErasedRequest {
    value.withUnsafeBytes {
      ErasedRequest(
        $0, key: ScheduleKey(app: "a.b", environment: .production, id: id), without: user, tokens,
        parser)
    }
  }

  private func json(_ rest: ErasedRequest) -> String? {
    guard case .rest(let value) = rest else { return nil }
    return value.withUnsafeBytes { String(decoding: ScheduleRecord.request(in: $0), as: UTF8.self) }
  }

  @Test func `a request to one user is gone, one to several goes on without that one`() throws {
    #expect(erased(scheduled(#"{"user":"ann","payload":{}}"#, users: ["ann"])) == .gone)
    #expect(erased(scheduled(#"{"user":"bob","payload":{}}"#, users: ["bob"])) == .untouched)
    // Equal text of other bytes is somebody else.
    #expect(
      erased(scheduled(#"{"user":"e\u0301"}"#, users: ["e\u{301}"]), user: "\u{e9}") == .untouched)
    let text =
      #"{"payload":{"users":["ann"],"n":123456789012345678901234567890},"users" : ["bob","ann"],"id":"r"}"#
    let rest = erased(scheduled(text, users: ["bob", "ann"]))
    #expect(
      json(rest)
        == #"{"payload":{"users":["ann"],"n":123456789012345678901234567890},"users" : ["bob"],"id":"r"}"#
    )
    guard case .rest(let value) = rest else { return }
    let read = try value.withUnsafeBytes { bytes throws(RecordError) in try ScheduleRecord(bytes) }
    guard case .request(let request) = read else { return #expect(Bool(false), "no request") }
    #expect(request.recipients?.users == ["bob"] && request.due == 9 && request.accepted == 5)
  }

  @Test func `tokens are known in either case, and other devices keep their push`() {
    let (gone, stays) = (String(repeating: "ab", count: 32), String(repeating: "cd", count: 32))
    let upper = gone.uppercased()
    #expect(erased(scheduled(#"{"token":"\#(upper)"}"#), tokens: [gone.exact]) == .gone)
    #expect(erased(scheduled(#"{"tokens":["\#(gone)"]}"#), tokens: [gone.exact]) == .gone)
    #expect(erased(scheduled(#"{"token":"\#(stays)"}"#), tokens: [gone.exact]) == .untouched)
    #expect(erased(scheduled(#"{"channel":"\#(gone)"}"#), tokens: [gone.exact]) == .untouched)
    #expect(
      json(erased(scheduled(#"{"tokens":["\#(upper)","\#(stays)"],"x":1}"#), tokens: [gone.exact]))
        == #"{"tokens":["\#(stays)"],"x":1}"#)
    // A name that is spelled with escapes is not found in the text: the request ends.
    #expect(
      erased(scheduled(#"{"to\u006bens":["\#(gone)","\#(stays)"]}"#), tokens: [gone.exact]) == .gone
    )
  }

  @Test func `the last state of an activity goes with its user, a cancellation with nobody`() {
    let state = ActivityState(sentAt: 1, accepted: 1, event: .update, channel: "", traceParent: "")
    let value = state.value(Array("{}".utf8))
    #expect(erased(value, id: "\tann\tgame") == .gone)
    #expect(erased(value, id: "\tannabel\tgame") == .untouched)
    #expect(erased(ScheduleCancellation(at: 1, by: "ann").value) == .untouched)
    #expect(erased(Array("none".utf8)) == .untouched)
  }

  @Test(arguments: [
    (#"{"a":1,"tokens":[1,{"b":"]"}],"c":2}"#, #"[1,{"b":"]"}]"#),
    (#"{"x":{"tokens":1},"tokens":2}"#, "2"),
    (#"{"x":"\"tokens\":1","tokens" : "a\"b" }"#, #""a\"b""#),
    (#"{"tokens":{}}"#, "{}"), (#"{"tokens":true}"#, "true"), (#"["tokens",1]"#, ""), ("{}", ""),
  ])
  func `a member is found in the text of an object`(_ text: String, _ value: String) {
    let bytes = Array(text.utf8)
    let found =
      JSONMembers.value(of: "tokens", in: bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
      ?? ""
    #expect(found == value)
  }
}
