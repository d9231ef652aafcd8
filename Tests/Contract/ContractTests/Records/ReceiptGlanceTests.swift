// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Testing

@Suite struct ReceiptGlanceTests {
  private let id = NotificationID(high: 0x0F6E_1C1E_5A0B_4C55, low: 0x9D0E_6F6B_3A1C_2D3E)

  /// The line of a receipt as senders write it.
  private func line(_ change: (inout ReceiptLine) -> Void = { _ in }) -> [UInt8] {
    var buffer = ByteBuffer()
    let idText = Array(id.description.utf8)
    idText.withUnsafeBytes { idText in
      var line = ReceiptLine(.delivered, at: 1_795_224_000_456)
      line.apnsID = idText
      line.created = 1_795_224_000_123
      change(&line)
      ReceiptEncoder.append(line, into: &buffer)
    }
    return Array(buffer.bytes)
  }

  private func read(_ line: [UInt8]) -> (id: NotificationID, created: Int64, at: Int64)? {
    line.withUnsafeBytes { ReceiptGlance($0)?.delivered }
  }

  @Test func `a delivered line says what the receipt says, whatever else stands in it`() throws {
    let texts: [StaticString] = ["plain", "\\\"at\\\":7,\\\"created\\\":8", "\\u00e9"]
    for text in texts {
      for hasMore in [false, true] {
        let line = line { line in
          line.escapedID = UnsafeRawBufferPointer(text)
          line.app = UnsafeRawBufferPointer("com.example.app" as StaticString)
          guard hasMore else { return }
          (line.status, line.attempts, line.retryAfter, line.timestamp) = (
            200, .max, .max, 1_795_224_000_000
          )
        }
        let receipt = try line.withUnsafeBytes { try Receipt($0, parser: JSONParser()) }
        let found = try #require(read(line))
        #expect(found.id == receipt.apnsID)
        #expect(found.created == receipt.created)
        #expect(found.at == receipt.at)
      }
    }
  }

  @Test func `no other receipt is delivered, nor a line that is cut anywhere`() {
    #expect(read(line { $0.outcome = .rejected }) == nil)
    #expect(read(line { $0.apnsID = ReceiptLine.nothing }) == nil)
    #expect(read(line { $0.created = 0 }) == nil)
    let whole = line()
    // From the last time on the line may be cut without that being seen.
    for count in 0..<whole.count - 14 { #expect(read(Array(whole[..<count])) == nil) }
  }
}
