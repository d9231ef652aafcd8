// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import GatewaySimulator

@Suite struct DateFieldTests {
  @Test func `a date as RFC 9110 writes it`() {
    #expect(DateField.text(second: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(DateField.text(second: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(DateField.text(second: 1_709_208_000) == "Thu, 29 Feb 2024 12:00:00 GMT")
  }

  @Test func `a date that is written is read`() {
    for second in stride(from: 0 as Int64, to: 4_000_000_000, by: 1_234_567) {
      #expect(HTTPDate.seconds(DateField.text(second: second)) == second)
    }
  }

  @Test func `the value changes with the second, and not before`() {
    var field = DateField()
    let first = String(decoding: field.value(now: 784_111_777_000), as: UTF8.self)
    let same = String(decoding: field.value(now: 784_111_777_999), as: UTF8.self)
    let next = String(decoding: field.value(now: 784_111_778_000), as: UTF8.self)
    #expect(first == same && next.hasSuffix("08:49:38 GMT"))
  }
}
