// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import Testing

@Suite struct ReceiptTests {
  private func with<R>(_ text: String, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    Array(text.utf8).withUnsafeBytes { body($0) }
  }

  @Test func `of a delivered notification have these bytes`() {
    var buffer = ByteBuffer()
    with("0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e") { id in
      with("com.example.app") { app in
        with("abcd") { token in
          var line = ReceiptLine(.delivered, at: 2)
          line.apnsID = id
          line.app = app
          line.token = token
          line.environment = .sandbox
          line.lane = UnsafeRawBufferPointer("bulk" as StaticString)
          line.status = 200
          line.attempts = 1
          line.created = 1
          ReceiptEncoder.append(line, into: &buffer)
          ReceiptEncoder.append(ReceiptLine(.suppressed, at: 3), into: &buffer)
        }
      }
    }
    let expected =
      #"{"outcome":"delivered","apns_id":"0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e","app":"com.example.app","#
      + #""environment":"sandbox","token":"abcd","lane":"bulk","status":200,"attempts":1,"created":1,"#
      + #""at":2}"# + "\n" + #"{"outcome":"suppressed","at":3}"#
    let text = String(decoding: buffer.bytes, as: UTF8.self)
    #expect(text == expected)
  }

  @Test func `receipts come back with every field, many lines per record`() throws {
    var buffer = ByteBuffer()
    let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    with(id) { apnsID in
      with(#"order \"1\"\u00e9"#) { escapedID in
        with("quote\" back\\ \u{1}") { detail in
          for outcome in Outcome.allCases {
            var line = ReceiptLine(outcome, at: 99)
            line.apnsID = apnsID
            line.escapedID = escapedID
            line.detail = detail
            line.reason = detail
            line.uniqueID = apnsID
            line.timestamp = 5
            line.status = 410
            ReceiptEncoder.append(line, into: &buffer)
          }
        }
      }
    }
    let receipts = try Receipt.all(in: buffer.bytes, parser: JSONParser())
    #expect(receipts.map(\.outcome) == Outcome.allCases)
    for receipt in receipts {
      #expect(receipt.apnsID == NotificationID(id))
      #expect(receipt.id == "order \"1\"é")
      #expect(receipt.detail == "quote\" back\\ \u{1}")
      #expect(receipt.reason == receipt.detail)
      #expect(receipt.uniqueID == id)
      #expect(receipt.timestamp == 5)
      #expect(receipt.status == 410)
      #expect(receipt.token == nil)
      #expect(receipt.lane == nil)
    }
  }

  @Test func `receipts that are damaged are refused by field`() {
    func field(_ text: String) -> String? {
      with(text) { line in
        do throws(RecordError) {
          _ = try Receipt(line, parser: JSONParser())
          return "none"
        } catch { return error.field }
      }
    }
    #expect(field(#"{"outcome":"delivered","at":1}"#) == "none")
    #expect(field(#"{"outcome":"lost","at":1}"#) == "outcome")
    #expect(field(#"{"outcome":"delivered"}"#) == "at")
    #expect(field(#"{"outcome":"delivered","at":1,"apns_id":"x"}"#) == "apns_id")
    #expect(field(#"{"outcome":"delivered","at":1,"status":70000}"#) == "status")
    #expect(field(#"{"at":1,"at":2}"#) == "at")
    #expect(field("[]") == nil)
  }
}
