// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// The header field `retry-after`.
@Suite(.serialized) struct RetryAfterHeaderTests {
  @Test func `retry-after in an outage: no push goes out again earlier, in seconds or as a date`()
    throws
  {
    for isDate in [false, true] {
      let isOut = Atomic(true)
      let gateway = try ScriptedGateway { request in
        guard isOut.load(ordering: .relaxed) else { return .accepted() }
        let wait = isDate ? HTTPDates.text(secondsFromNow: 5) : "4"
        return .answer(
          .init(status: 503, body: #"{"reason":"ServiceUnavailable"}"#, retryAfter: wait))
      }
      let rig = try SenderRig(hasToken: true)
      let sender = try rig.startSender(loops: 1, answering: gateway)
      try rig.sendMany(100)
      #expect(eventually { sender.counter("retried") > 0 })
      isOut.store(false, ordering: .relaxed)
      let receipts = try rig.receipts(100)
      #expect(receipts.count == 100 && receipts.allSatisfy { $0.outcome == .delivered })
      let times = Dictionary(grouping: gateway.requests, by: \.id).mapValues { $0.map(\.at) }
      for (id, sends) in times {
        for (earlier, later) in zip(sends, sends.dropFirst()) {
          #expect(later - earlier >= 3_000, "\(id) after \(later - earlier) ms")
        }
      }
    }
  }
}

/// Times as header fields have them.
enum HTTPDates {
  static func text(secondsFromNow seconds: Int64) -> String {
    var time = time_t(WallClock.seconds() + seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 64)
    strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
