// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP2

@Suite struct WaitingRequestsTests {
  @Test func `requests that always have a successor are released once they are written`() {
    var waiting = WaitingRequests()
    var headers = HeaderList()
    headers.append(":path", "/3/device/00")
    headers.append("apns-topic", "com.example.app")
    waiting.append(stream: 1, headers, prepared: nil)
    var most = 0
    var wrong = 0
    for number in UInt32(1)..<50_000 {
      waiting.append(stream: 2 * number + 1, headers, prepared: nil)
      // Every third one was given up.
      if number % 3 == 0 { continue }
      _ = waiting.skip(to: 2 * number - 1)
      var count = 0
      waiting.take { _, _ in count += 1 }
      if count != 2 { wrong += 1 }
      most = max(most, waiting.keptCount)
    }
    #expect(wrong == 0)
    #expect(most <= 2 * WaitingRequests.mostWritten)
  }
}
