// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Testing
import Waiting

@testable import Records

/// Records in the form that Martlet writes are read without a parser: with the same result, whatever becomes of them.
@Suite struct WrittenRecordTests {
  private let parser = JSONParser()

  /// Each of these is written by one of ours, and each of its bytes is changed.
  private func forEachChange(
    of bytes: [UInt8], _ seed: UInt64, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    var random = SeededGenerator(seed: seed)
    bytes.withUnsafeBytes(body)
    for index in bytes.indices {
      var changed = bytes
      switch random.below(4) {
      case 0: changed.remove(at: index)
      case 1: changed.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
      case 2: changed[index] = Array("\"\\{}[],:09aAfF -\n".utf8)[random.below(17)]
      default: changed[index] ^= 1 << UInt8(random.below(8))
      }
      changed.withUnsafeBytes(body)
    }
  }

  private func text(_ random: inout SeededGenerator) -> String {
    let plain = ["Unregistered", "com.example.app", "a", "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"]
    let others = ["", "a\"b", "ünï", "\u{1}", "back\\slash"]
    return random.oneIn(6) ? others[random.below(5)] : plain[random.below(4)]
  }

  private func device(_ random: inout SeededGenerator) -> DeviceKey {
    var app = text(&random)
    if app.isEmpty { app = "b" }
    return DeviceKey(
      token: String(repeating: "0a", count: 1 + random.below(40)),
      app: app, environment: random.oneIn(2) ? .production : .sandbox)
  }

  private func time(_ random: inout SeededGenerator) -> Int64 {
    1_795_000_000_000 + Int64(random.below(1_000_000))
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `feedback`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let record = FeedbackRecord(
      device: device(&random), topic: "t" + text(&random), status: random.oneIn(2) ? 410 : 400,
      reason: text(&random), timestamp: random.oneIn(2) ? time(&random) : nil,
      apnsID: text(&random), sentAt: time(&random), at: time(&random), isImported: random.oneIn(3))
    let read = try record.value.withUnsafeBytes { try FeedbackRecord($0, parser: parser) }
    #expect(read == record)
    forEachChange(of: record.value, seed) { bytes in
      guard let written = FeedbackRecord(written: bytes) else { return }
      let parsed = try? FeedbackRecord(parsing: bytes, parser)
      #expect(parsed == written, "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `invalid tokens`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let record = InvalidTokenRecord(
      device: device(&random), invalidSince: time(&random), reason: text(&random),
      at: time(&random), aliveFrom: time(&random))
    let other = device(&random)
    record.value.withUnsafeBytes {
      #expect(InvalidTokenRecord(of: record.device, $0, parser: parser) == record)
      #expect(
        InvalidTokenRecord(of: other, $0, parser: parser)
          == (other == record.device ? record : nil))
    }
    forEachChange(of: record.value, seed) { bytes in
      guard let written = InvalidTokenRecord(of: record.device, written: bytes) else { return }
      #expect((try? InvalidTokenRecord(bytes, parser: parser)) == written)
    }
    func isOne(_ value: UnsafeRawBufferPointer, of key: [UInt8]) -> Bool {
      key.withUnsafeBytes { InvalidTokenRecord.isOne(value, of: $0, parser: parser) }
    }
    forEachChange(of: record.value, seed) { bytes in
      #expect(
        isOne(bytes, of: record.key)
          == (InvalidTokenRecord(of: record.device, bytes, parser: parser) != nil))
    }
    record.value.withUnsafeBytes { value in
      forEachChange(of: record.key, seed) { key in
        #expect(isOne(value, of: Array(key)) == (Array(key) == record.key))
      }
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `receipts`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var buffer = ByteBuffer()
    let texts = (0..<12).map { _ in Array(text(&random).utf8) }
    let id = Array("\(NotificationID(version4: random.next(), random.next()))".utf8)
    func pointer(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
      bytes.withUnsafeBytes { body(random.oneIn(3) ? ReceiptLine.nothing : $0) }
    }
    var line = ReceiptLine(
      Outcome.allCases[random.below(Outcome.allCases.count)], at: time(&random))
    if random.oneIn(2) { line.environment = .sandbox }
    if random.oneIn(2) { line.status = 410 }
    if random.oneIn(2) { line.attempts = 3 }
    if random.oneIn(2) { line.created = time(&random) }
    if random.oneIn(3) { line.retryAfter = 30 }
    if random.oneIn(3) { line.timestamp = time(&random) }
    pointer(id) { id in
      pointer(texts[0]) { app in
        pointer(texts[1]) { token in
          pointer(texts[2]) { reason in
            pointer(Array("bulk".utf8)) { lane in
              line.apnsID = id
              line.escapedID = id
              line.app = app
              line.token = token
              line.reason = reason
              line.detail = reason
              line.lane = lane
              ReceiptEncoder.append(line, into: &buffer)
            }
          }
        }
      }
    }
    forEachChange(of: Array(buffer.bytes), seed) { bytes in
      guard let written = ReceiptKeys(written: bytes) else { return }
      #expect((try? ReceiptKeys(parsing: bytes, parser)) == written)
    }
  }

  @Test func `receipts in their usual form are read without a parser`() {
    let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    let line =
      #"{"outcome":"delivered","apns_id":"\#(id)","id":"order-1","app":"a.b","environment":"sandbox","#
      + #""token":"00ff","lane":"bulk","status":200,"attempts":1,"created":1795000000000,"#
      + #""at":1795000000045,"data":{"a":"b","c":"d"},"traceparent":"00-1-1-01","group":"g"}"#
    let keys = Array(line.utf8).withUnsafeBytes { ReceiptKeys(written: $0) }
    #expect(keys?.id == "order-1" && keys?.apnsID == id && keys?.app == "a.b")
    #expect(keys?.at == 1_795_000_000_045)
  }
}
