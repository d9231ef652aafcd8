// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Testing
import Waiting

@Suite struct ByteBufferTests {
  private func text(_ fill: (inout ByteBuffer) -> Void) -> String {
    var buffer = ByteBuffer()
    fill(&buffer)
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  @Test func `integers are written as Swift writes them, at every number of digits`() {
    var bound: UInt64 = 1
    for _ in 0..<20 {
      for value in [bound &- 1, bound, bound &+ 1, bound &* 9, bound &* 10 &- 1] {
        #expect(text { $0.append(decimalMagnitude: value) } == "\(value)")
      }
      bound = bound &* 10
    }
    for value in [Int64.min, -1, 0, 7, 10, 99, 100, 1_795_000_000_123, Int64.max] {
      #expect(text { $0.append(decimal: value) } == "\(value)")
    }
    #expect(text { $0.append(decimalMagnitude: .max) } == "\(UInt64.max)")
    // Times have digits of their own, eight at a time.
    var random = SeededGenerator(seed: 13)
    for _ in 0..<20_000 {
      let time = UInt64.random(in: 1_000_000_000_000..<10_000_000_000_000, using: &random)
      #expect(text { $0.append(decimalMagnitude: time) } == "\(time)")
    }
  }

  /// RFC 8259 §7, byte by byte.
  private func escaped(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x22, 0x5C: [0x5C, byte]
      case 0x08: Array("\\b".utf8)
      case 0x09: Array("\\t".utf8)
      case 0x0A: Array("\\n".utf8)
      case 0x0C: Array("\\f".utf8)
      case 0x0D: Array("\\r".utf8)
      case 0..<0x20: Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
      default: [byte]
      }
    }
  }

  @Test func `every byte is escaped as JSON wants it, at every place of a text`() {
    for byte in UInt8.min ... .max {
      for length in 1...20 {
        for place in 0..<length {
          var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
          bytes[place] = byte
          var buffer = ByteBuffer()
          bytes.withUnsafeBytes { buffer.append(jsonEscaped: $0) }
          let written = Array(buffer.bytes)
          #expect(written == escaped(bytes))
        }
      }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `random texts are escaped as JSON wants it`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
        UInt8.random(in: 0...(Bool.random(using: &random) ? 255 : 0x5C), using: &random)
      }
      var buffer = ByteBuffer()
      bytes.withUnsafeBytes { buffer.append(jsonEscaped: $0) }
      let written = Array(buffer.bytes)
      #expect(written == escaped(bytes), "seed \(seed)")
    }
  }
}
