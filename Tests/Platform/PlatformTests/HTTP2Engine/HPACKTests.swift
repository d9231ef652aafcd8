// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import HTTP

/// RFC 7541, with `DynamicTable`, `StaticTable`, `HuffmanCode`, `FieldName` and `FieldText`.
@Suite struct HPACKTests {
  /// Reads whole blocks with one decoder.
  struct Reading {
    var decoder = HeaderDecoder(listLimit: 65_536)

    mutating func fields(of block: [UInt8]) throws(HPACKError) -> [[String]] {
      var position = 0
      var found: [[String]] = []
      decoder.beginBlock()
      while try decoder.next(in: block.span, at: &position) {
        let field = decoder.text.field
        found.append([
          String(decoding: field.name, as: UTF8.self), String(decoding: field.value, as: UTF8.self),
        ])
      }
      return found
    }
  }

  @Test(arguments: HPACKExample.single + HPACKExample.sequences)
  func `the examples of RFC 7541 Appendix C are read`(_ example: HPACKExample) throws {
    var reading = Reading()
    if example.capacity != 4_096 {
      let change = written {
        HPACKInteger.append(example.capacity, prefix: 5, flags: 0x20, to: &$0)
      }
      #expect(try reading.fields(of: change).isEmpty)
    }
    for block in example.blocks {
      let fields = try reading.fields(of: bytes(block.hex))
      #expect(fields == block.fields.map { [$0.0, $0.1] })
      #expect(reading.decoder.tableSize == block.tableSize)
    }
  }

  @Test(arguments: HPACKExample.sequences)
  func `the examples with Huffman coding are written as the RFC shows them`(_ example: HPACKExample)
    throws
  {
    guard example.isHuffman else { return }
    var encoder = HeaderEncoder(most: example.capacity)
    _ = written { encoder.beginBlock(&$0) }
    for block in example.blocks {
      let found = written { out in
        for (name, value) in block.fields {
          encoder.append(Array(name.utf8).span, Array(value.utf8).span, .incremental, to: &out)
        }
      }
      #expect(found == bytes(block.hex))
    }
  }

  @Test func `integers: RFC 7541 C.1, and every value there and back with every prefix`() throws {
    #expect(written { HPACKInteger.append(10, prefix: 5, flags: 0, to: &$0) } == [0x0A])
    #expect(
      written { HPACKInteger.append(1_337, prefix: 5, flags: 0, to: &$0) } == [0x1F, 0x9A, 0x0A])
    #expect(written { HPACKInteger.append(42, prefix: 8, flags: 0, to: &$0) } == [0x2A])
    for prefix in 1...8 {
      let edges = [16_383, 16_384, 65_535, 1 << 21, 1 << 27]
      for value in Array(0...1_000) + edges {
        let form = written { HPACKInteger.append(value, prefix: prefix, flags: 0, to: &$0) }
        var position = 0
        #expect(try HPACKInteger.read(form.span, at: &position, prefix: prefix) == value)
        #expect(position == form.count)
        for cut in 0..<form.count {
          var position = 0
          #expect(throws: HPACKError.truncated) {
            _ = try HPACKInteger.read(Array(form.prefix(cut)).span, at: &position, prefix: prefix)
          }
        }
      }
    }
  }

  @Test(arguments: ["1fffffffffff0f", "1f8080808000", "1fffffffff7f"])
  func `an integer that is too large, or too long, is refused`(_ hex: String) {
    var position = 0
    #expect(throws: HPACKError.integerTooLarge) {
      _ = try HPACKInteger.read(bytes(hex).span, at: &position, prefix: 5)
    }
  }

  @Test func `Huffman: every text of two bytes and seeded longer ones, there and back`() throws {
    let huffman = Huffman()
    var random = SeededGenerator(seed: 7)
    var texts: [[UInt8]] = [[]]
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max { texts.append([first, second]) }
    }
    for _ in 0..<500 {
      let count = Int(random.next() % 64)
      texts.append((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) })
    }
    var wrong = 0
    for text in texts {
      let coded = written { huffman.encode(text.span, to: &$0) }
      if coded.count != huffman.encodedCount(text.span) { wrong += 1 }
      if try decoded(coded, huffman) != text { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test
  func `Huffman: any input is refused or is the only form of its text, up to two bytes in full`() {
    let huffman = Huffman()
    var wrong = 0
    var inputs: [[UInt8]] = (0...255).map { [UInt8($0)] }
    for word in 0...65_535 { inputs.append([UInt8(word >> 8), UInt8(word & 255)]) }
    for input in inputs {
      guard let text = try? decoded(input, huffman) else { continue }
      if written({ huffman.encode(text.span, to: &$0) }) != input { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test(arguments: ["1fff", "ff", "18", "fffffffc", "ffffffff", "fffffffffc"])
  func `Huffman: wrong padding and the end symbol are refused`(_ hex: String) {
    #expect(throws: HPACKError.invalidHuffman) { try decoded(bytes(hex), Huffman()) }
  }

  private func decoded(_ coded: [UInt8], _ huffman: Huffman) throws(HPACKError) -> [UInt8] {
    var text = [UInt8](repeating: 0, count: coded.count * 8 / 5 + 1)
    var end = 0
    var room = text.mutableSpan
    try huffman.decode(coded.span, into: &room, end: &end)
    return Array(text[..<end])
  }

  @Test(arguments: [
    ("80", HPACKError.noSuchEntry), ("be", .noSuchEntry), ("ff00", .noSuchEntry),
    ("ff80808080", .integerTooLarge), ("40", .truncated), ("400161", .truncated),
    ("40ff", .truncated), ("4083ffffff0161", .invalidHuffman), ("3fe21f", .invalidSizeUpdate),
    ("8220", .invalidSizeUpdate), ("7e0161", .noSuchEntry),
  ])
  func `a block that cannot be read says why`(_ hex: String, _ error: HPACKError) {
    var reading = Reading()
    #expect(throws: error) { try reading.fields(of: bytes(hex)) }
  }

  @Test func `every block of up to two bytes, and seeded ones, are read or refused`() {
    var random = SeededGenerator(seed: 11)
    var reading = Reading()
    for word in 0...65_535 { _ = try? reading.fields(of: [UInt8(word >> 8), UInt8(word & 255)]) }
    for _ in 0..<5_000 {
      let count = Int(random.next() % 40)
      let block = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) }
      _ = try? reading.fields(of: block)
      if reading.decoder.tableSize > 4_096 { Issue.record("the table grew above its capacity") }
    }
  }

  @Test
  func `a lowered limit takes effect when the peer changes its table, and a higher one is refused`()
    throws
  {
    var reading = Reading()
    _ = try reading.fields(of: bytes("400a637573746f6d2d6b65790d637573746f6d2d686561646572"))
    reading.decoder.changeLimit(0)
    // h2o 2.2 goes on without a word.
    #expect(try reading.fields(of: bytes("4001610162")) == [["a", "b"]])
    #expect(try reading.fields(of: bytes("be")) == [["a", "b"]])
    #expect(try reading.fields(of: bytes("bf")) == [["custom-key", "custom-header"]])
    #expect(throws: HPACKError.invalidSizeUpdate) { try reading.fields(of: bytes("2188")) }
    #expect(try reading.fields(of: bytes("2088")) == [[":status", "200"]])
    #expect(reading.decoder.tableSize == 0)
    // With a table of nothing a field is read and not kept.
    #expect(try reading.fields(of: bytes("4001610162")) == [["a", "b"]])
    #expect(throws: HPACKError.noSuchEntry) { try reading.fields(of: bytes("be")) }
  }

  @Test func `fields that are too large together are refused`() throws {
    var decoder = HeaderDecoder(listLimit: 100)
    var position = 0
    decoder.beginBlock()
    let block = bytes("8888")
    #expect(try decoder.next(in: block.span, at: &position))
    #expect(try decoder.next(in: block.span, at: &position))
    position = 0
    #expect(throws: HPACKError.listTooLarge) { _ = try decoder.next(in: block.span, at: &position) }
  }
}

/// What a body writes.
func written(_ body: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
  [UInt8](capacity: 1 << 17) { body(&$0) }
}
