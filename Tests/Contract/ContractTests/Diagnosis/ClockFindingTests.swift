// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@Suite struct ClockFindingTests {
  @Test(arguments: [
    (Int64(0), true), (60, true), (-60, true), (61, false), (-61, false), (3_600, false),
    (.min, false),
  ])
  func `more than 60 s beside the gateway's date is an error, in both directions`(
    ahead: Int64, isRight: Bool
  ) {
    let found = ClockFindings.compared(to: "api.push.apple.com:443", secondsAhead: ahead)
    #expect(found.map(\.status) == [isRight ? .ok : .error])
    if !isRight {
      #expect(
        found[0].message
          == "this machine is \(ahead.magnitude) s \(ahead > 0 ? "ahead of" : "behind") the gateway's date"
      )
      #expect(found[0].remedy.contains("chronyc"))
    }
  }

  @Test func `a gateway that sends no date says nothing about the clock`() {
    #expect(ClockFindings.compared(to: "gateway", secondsAhead: nil).isEmpty)
  }

  @Test func `a clock that nothing keeps right is a warning; not knowing is none`() {
    #expect(ClockFindings.local(isSynchronized: true).status == .ok)
    #expect(ClockFindings.local(isSynchronized: false).status == .warning)
    #expect(ClockFindings.local(isSynchronized: nil).status == .ok)
  }

  @Test func `the date of a header in the form of RFC 9110`() {
    #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.seconds("Tue, 29 Feb 2000 23:59:59 GMT") == 951_868_799)
    #expect(HTTPDate.seconds("Wed, 31 Dec 2025 23:59:60 GMT") == 1_767_225_600)
    for text in [
      "", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-1994 08:49:37 GMT",
      "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT", "Sun Nov  16 08:49:37 1994",
      "Sun Nov 6 08:49:37 1994", "Sunday, 06-Nov-94 08:49:37 UTC", "Sun  Nov 6 08:49:37 1994",
      "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 19 4 08:49:37 GMT",
      "ééééééééééééééééééééééééééééé",
    ] { #expect(HTTPDate.seconds(text) == nil, "\(text)") }
  }

  @Test func `every day of 800 years has the number that follows the day before`() {
    let names = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    var expected: Int64 = 0
    for year in 1_970..<2_770 {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      for month in 0..<12 {
        for day in [1, lengths[month]] {
          let found = HTTPDate.seconds("Mon, \(two(day)) \(names[month]) \(year) 00:00:00 GMT")
          let wanted = expected + Int64(day - 1) * 86_400
          if found != wanted { Issue.record("\(year) \(names[month]) \(day)") }
        }
        expected += Int64(lengths[month]) * 86_400
      }
    }
  }
}
