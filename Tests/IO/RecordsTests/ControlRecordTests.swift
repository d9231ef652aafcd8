// SPDX-License-Identifier: Apache-2.0
import Records
import Testing

@Suite struct ControlRecordTests {
  private func isPaused(_ text: String) -> Bool? {
    Array(text.utf8).withUnsafeBytes { ControlRecord.isPaused($0) }
  }

  @Test func `a control record says whether it pauses`() {
    #expect(ControlRecord.isPaused(nil) == false)
    #expect(isPaused(#"{"paused":true,"at":1795000000000,"by":"ann"}"#) == true)
    #expect(isPaused(#"{"reason":"x","paused":false}"#) == false)
  }

  @Test(arguments: [
    "", "{", "[[[[", "{}", "true", "null", "[true]", #"{"paused":"true"}"#, #"{"paused":1}"#,
    #"{"paused":null}"#, "\u{0}", String(repeating: "[", count: 100_000),
  ])
  func `one that cannot be read says nothing`(text: String) {
    #expect(isPaused(text) == nil)
  }
}
