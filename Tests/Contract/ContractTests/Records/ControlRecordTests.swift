// SPDX-License-Identifier: Apache-2.0
import Contract
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

  private func pace(_ text: String?) throws(ControlRecord.NoPace) -> String? {
    guard let text else { return try ControlRecord.pace(nil)?.description }
    let result = Array(text.utf8).withUnsafeBytes { bytes in
      Result { () throws(ControlRecord.NoPace) in try ControlRecord.pace(bytes)?.description }
    }
    return try result.get()
  }

  @Test
  func `a control record says the pace that it sets, and a tombstone that it sets none`() throws {
    #expect(try pace(#"{"pace":"200/s","at":1795000000000,"by":"ann"}"#) == "200/s")
    #expect(try pace(nil) == nil)
  }

  @Test(arguments: [
    "", "{", "[[[[", "{}", "null", #"{"pace":200}"#, #"{"pace":"200"}"#, #"{"pace":"0/s"}"#,
    #"{"paused":true}"#, String(repeating: "[", count: 100_000),
  ])
  func `one whose pace cannot be read is told with its text`(text: String) {
    let problem = #expect(throws: ControlRecord.NoPace.self) { try pace(text) }
    #expect(problem?.value == text)
  }
}
