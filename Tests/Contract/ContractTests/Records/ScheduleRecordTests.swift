// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Testing

/// `send_at` in requests, and the records of `push.schedule`.
@Suite struct ScheduleRecordTests {
  private let reader = RequestReader()

  private func read(_ more: String, id: String = #","id":"r""#) throws -> Int64? {
    let text = #"{"app":"a.b","token":"abcd","payload":{"aps":{"badge":1}}\#(id)\#(more)}"#
    return try Array(text.utf8).withUnsafeBytes { try reader.read($0).sendAt }
  }

  private func error(_ more: String, id: String = #","id":"r""#) -> String? {
    do { _ = try read(more, id: id) } catch { return "\(error)" }
    return nil
  }

  @Test func `a time is epoch seconds or RFC 3339 with an offset`() throws {
    #expect(try read("") == nil)
    #expect(try read(#","send_at":null"#) == nil)
    #expect(try read(#","send_at":1795000000"#) == 1_795_000_000_000)
    #expect(try read(#","send_at":"2026-11-18T10:26:40Z""#) == 1_794_997_600_000)
    #expect(try read(#","send_at":"2026-11-18T11:26:40.25+01:00""#) == 1_794_997_600_250)
    #expect(try read(#","send_at":"2026-11-18T04:56:40.123456789-05:30""#) == 1_794_997_600_123)
    // A number after a text: the text of the last request is not it.
    #expect(try read(#","send_at":1795000000"#) == 1_795_000_000_000)
  }

  @Test(arguments: [
    #""2026-11-18T10:26:40""#, #""2026-11-18""#, #""2026-02-30T00:00:00Z""#, #""tomorrow""#, #""""#,
    #""2026-11-18T10:26:40+1:00""#, #""2026-11-18T10:26:40+24:00""#, #""2026-11-18T10:26:40.Z""#,
    #""2026-11-18 10:26:40Z""#, "-1", #""1970-01-01T00:00:00Z""#,
    #""2026-11-18T24:00:00Z""#,
  ])
  func `what is no time names the field and the forms`(_ value: String) throws {
    let text = try #require(error(#","send_at":\#(value)"#))
    #expect(text.hasPrefix("send_at: is not a time: use epoch seconds, or RFC 3339"), "\(text)")
  }

  @Test func `a number of seconds from the request on is a time in 1970, as with expiration`() {
    for (value, year) in [("0", "1970"), ("3600", "1970"), ("999999999", "2001")] {
      let text = error(#","send_at":\#(value)"#) ?? ""
      #expect(text.hasPrefix("send_at: \(value) is a time in \(year): use epoch seconds, or RFC"))
    }
  }

  @Test func `milliseconds, other types, and what stands beside it`() {
    #expect(error(#","send_at":1795000000000"#)?.contains("milliseconds?") == true)
    #expect(error(#","send_at":true"#) == "send_at: is not an integer or a string (byte 77)")
    #expect(
      error(#","send_at":1795000000,"expiration":1795000000"#)
        == "expiration: is not after send_at: the push would expire before it is sent")
    #expect(error(#","send_at":1795000000,"expiration":1795000001"#) == nil)
    #expect(error(#","send_at":1795000000,"expiration":0"#) == nil)
    #expect(error(#","send_at":1795000000,"expires_in":1"#) == nil)
    #expect(
      error(#","send_at":1795000000"#, id: "")?.hasPrefix("id: is required with send_at") == true)
    #expect(
      error(#","send_at":1795000000"#, id: #","id":"a\u0000b""#)?.hasPrefix("id: has") == true)
    #expect(error("", id: #","id":"a\u0000b""#) == nil)
  }

  @Test
  func `a request waits until the clocks of its writer and of ingest say that its time has come`() {
    #expect(SendTime.requeue(now: 5, after: nil) == 5)
    #expect(SendTime.requeue(now: 5, after: 4) == 5 && SendTime.requeue(now: 5, after: 9) == 10)
    func waits(_ written: Int64, _ now: Int64, _ requeuedAt: Int64? = nil) -> Bool {
      SendTime.waits(1_000_000, written: written, requeuedAt: requeuedAt, now: now)
    }
    #expect(waits(999_999, 2_000_000))
    #expect(waits(1_000_000, 998_999))
    #expect(!waits(1_000_000, 999_000))
    #expect(!waits(1_000_000, 1_000_000) && !waits(-1, 1_000_000) && waits(-1, 900_000))
    // The writer's clock is ahead: it may have been written before it was cancelled.
    #expect(waits(1_600_000, 1_000_000) && waits(1_600_000, 1_598_999))
    #expect(!waits(1_600_000, 1_599_000))
    // It was kept until ingest's clock said that it was due; or it was not.
    #expect(!waits(1_600_000, 1_000_000, 700_000) && waits(1_600_000, 1_000_000, 699_999))
  }

  @Test func `more than thirty days ahead is refused, from when it was written`() {
    let day: Int64 = 86_400_000
    let header = Array("1795000000000 1795000000001".utf8).withUnsafeBytes {
      ScheduledRequest.released($0)
    }
    #expect(header?.accepted == 1_795_000_000_000 && header?.requeuedAt == 1_795_000_000_001)
    #expect((try? RequestRules.checkSendAt(40 * day, received: 10 * day)) != nil)
    #expect((try? RequestRules.checkSendAt(40 * day + 1, received: 10 * day)) == nil)
  }

  @Test func `records are read as they are written`() throws {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    for requeuedAt in [nil, 1_795_000_000_002] as [Int64?] {
      for trace in ["", trace] {
        var entry = ScheduledRequest(
          due: 1_795_000_000_000, accepted: 1_795_000_000_001, requeuedAt: requeuedAt)
        entry.traceParent = trace
        var buffer = ByteBuffer()
        Array(trace.utf8).withUnsafeBytes { trace in
          Array("{\"a\":\n1}".utf8).withUnsafeBytes {
            entry.append(to: &buffer, traceParent: trace, request: $0)
          }
        }
        #expect(try ScheduleRecord(buffer.bytes) == .request(entry))
        #expect(
          String(decoding: ScheduleRecord.request(in: buffer.bytes), as: UTF8.self) == "{\"a\":\n1}"
        )
      }
    }
    let cancellation = ScheduleCancellation(at: 1_795_000_000_000, by: "ann\t@\nhost")
    let read = try cancellation.value.withUnsafeBytes { try ScheduleRecord($0) }
    #expect(read == .cancellation(ScheduleCancellation(at: 1_795_000_000_000, by: "ann @ host")))
  }

  @Test func `a key is app, environment and id, which may have colons`() {
    let key = ScheduleKey(app: "com.example.app", environment: .sandbox, id: "order:1/ü")
    #expect(ScheduleKey(key.exact) == key)
    let mark = ScheduleKey(app: "a.b", environment: .production, id: "\u{301}x")
    #expect(ScheduleKey(mark.exact) == mark)
    for text in ["", "a", "a:b:c", "a.b:production", "a.b:production:", "a b:production:x"] {
      #expect(ScheduleKey(text.exact) == nil, "\(text)")
    }
  }

  /// Accents, the variant of an emoji, a tone of skin, a joiner: `Character` takes them together with what precedes.
  @Test(arguments: ["\u{301}a", "\u{FE0F}", "\u{1F3FB}:b", "\u{200D}x"])
  func `a key is read by its bytes, whatever mark its id begins with`(_ id: String) {
    let key = ScheduleKey(app: "com.example.app", environment: .production, id: id.exact)
    #expect(ScheduleKey(key.exact) == key)
  }
}
