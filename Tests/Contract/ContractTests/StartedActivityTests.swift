// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// A start of an activity that is running already.
@Suite struct StartedActivityTests {
  private func update(_ json: String) -> String {
    String(decoding: StartedActivity.update(of: Array(json.utf8)), as: UTF8.self)
  }

  @Test func `a start becomes an update, without what only a start has, and else as it was`() {
    #expect(
      update(
        #"{"app":"a.b","id":"1","event":"start_or_update","payload":{"aps":{"timestamp":1.10,"event":"start","#
          + #""content-state":{"event":"start","attributes":{"n":1E5}},"attributes-type":"T","attributes":{"a":[1,{}]},"#
          + #""input-push-token":1,"input-push-channel":"c==","alert":{"title":"a,}\"]"}},"event":"start"},"data":{}}"#
      )
        == #"{"app":"a.b","id":"1","event":"update","payload":{"aps":{"timestamp":1.10,"event":"update","#
        + #""content-state":{"event":"start","attributes":{"n":1E5}},"alert":{"title":"a,}\"]"}},"event":"start"},"data":{}}"#
    )
  }

  @Test func `blanks and escapes in names do not hide them`() {
    #expect(
      update(
        "{ \"p\\u0061yload\" :\n{\t\"aps\" : { \"attributes\" : { } , \"ev\\u0065nt\" : \"start\" , \"x\" : 1 } } , \"event\" : \"start_or_update\" }"
      ) == #"{"p\u0061yload":{"aps":{"ev\u0065nt":"update","x":1}},"event":"update"}"#)
    // A line end is no n.
    #expect(
      update(#"{"payload":{"aps":{"eve\nt":1,"a\ttributes":2}},"event":"start_or_update"}"#)
        == #"{"payload":{"aps":{"eve\nt":1,"a\ttributes":2}},"event":"update"}"#)
  }

  @Test func `whatever is no such request does not end the process`() {
    for text in [
      "", "{", "[]", "{\"payload\":1}", #"{"payload":{"aps":[]}}"#, "{\"a", "{\"a\":", "{}",
    ] {
      _ = update(text)
    }
    #expect(
      update("{}") == "{}" && update(#"{"payload":{"aps":[]}}"#) == #"{"payload":{"aps":[]}}"#)
  }
}
