// SPDX-License-Identifier: Apache-2.0

import EventLoop
import Records
import Testing
import Waiting

@Suite struct JSONDocumentTests {
  private func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

  private func error(_ text: [UInt8]) -> JSONError? {
    do throws(JSONError) {
      _ = try JSONDocument(text)
      return nil
    } catch { return error }
  }

  @Test func `numbers are written with the digits that were read`() throws {
    let text =
      "[0,-0,1,-1,9223372036854775807,-9223372036854775808,9223372036854775808,1E5,1e5,1.10,-0.0,1e400,0.30000000000000004]"
    let value = try JSONDocument(text).root
    #expect(String(decoding: value.text, as: UTF8.self) == text)
    let numbers = try #require(value.array)
    #expect(numbers[0].int == 0 && numbers[3].int == -1 && numbers[7].int == 100_000)
    #expect(numbers[7].anyNumber == 100_000 && numbers[9].anyNumber == 1.1)
    // Their values are compared, as far as a floating-point number tells them apart.
    #expect(numbers[7] == numbers[8] && numbers[7] == 100_000.0 && numbers[9] == .double(1.1))
    #expect(numbers[9] != .double(1.2) && numbers[9] != "1.10")
  }

  @Test func `documents are read with every kind of value`() throws {
    let text = #"""
      {"null":null,"yes":true,"no":false,"int":-12,"max":9223372036854775807,"double":1.5e2,
       "text":"a\"b\u00e9\ud83d\ude00","list":[1,[2],{}],"empty":{}}
      """#
    let root = try JSONDocument(text).root
    #expect(root["null"]?.isNull == true)
    #expect(root["yes"]?.bool == true)
    #expect(root["no"]?.bool == false)
    #expect(root["int"]?.int == -12)
    #expect(root["max"]?.int == Int64.max)
    #expect(root["double"]?.anyNumber == 150)
    #expect(root["text"]?.string == "a\"bé😀")
    #expect(root["list"] == [1, [2], [:]])
    #expect(root["empty"]?.object?.members.isEmpty == true)
    #expect(root["absent"] == nil)
    #expect(root.object?.keys.count == 9)
  }

  @Test func `documents may be a scalar or an array`() throws {
    #expect(try JSONDocument("7").root == 7)
    #expect(try JSONDocument(" \"x\" ").root == "x")
    #expect(try JSONDocument("null").root == nil)
    #expect(try JSONDocument("[true]").root == [true])
    #expect(try JSONDocument("1.5").root == 1.5)
    #expect(try JSONDocument("18446744073709551616").root.anyNumber == 18_446_744_073_709_551_616)
  }

  @Test func `documents show duplicate keys`() throws {
    let object = try JSONDocument(#"{"a":1,"b":2,"a":3}"#).root.object
    #expect(object?.duplicateKey == "a")
    #expect(object?.members.count == 3)
    #expect(object?["a"] == 1)
    #expect(try JSONDocument(#"{"a":{"a":1}}"#).root.object?.duplicateKey == nil)
  }

  @Test(arguments: [
    ("", 0), ("   ", 0), ("{", 1), ("[1,]", 3), ("[1 2]", 3), (#"{"a":tru}"#, 5),
    (#"{"a" 1}"#, 5),
    (#"{"a":01}"#, 5), ("1],[2", 1), ("[1] 2", 4), (#"["\x"]"#, 1), (#"["abc"#, 1), ("nul", 0),
    ("[\"a\u{1}\"]", 3), ("-", 0), ("1.", 0), ("1e", 0), ("{1:2}", 1), (#"["\ud800"]"#, 1),
  ])
  func `documents are refused with the byte at which they go wrong`(text: String, offset: Int) {
    let found = error(text)
    #expect(found != nil, "\(text)")
    // The parser looks a token ahead in places: the offset is the token or its neighbour.
    #expect(abs((found?.offset ?? -9) - offset) <= 2, "\(text): \(String(describing: found))")
  }

  @Test func `documents are refused when their UTF-8 is broken, at the broken byte`() {
    let sequences: [[UInt8]] = [
      [0xFF], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xC3], [0x80],
    ]
    for bad in sequences {
      #expect(error(Array("[\"ab".utf8) + bad + Array("\"]".utf8))?.offset == 4)
    }
  }

  @Test func `documents may nest 128 deep and no deeper`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(error(nested(129)) == nil)
    #expect(error(nested(130)) != nil)
    #expect(error(nested(100_000)) != nil)
    #expect(error(String(repeating: #"{"a":"#, count: 5_000)) != nil)
  }

  @Test func `documents come back the same after being written`() throws {
    let value: JSONValue = [
      "text": "tab\t quote\" back\\ é \u{1}", "list": [nil, true, -7, 2.5, ["x": []]],
      "": "empty key",
    ]
    #expect(try JSONDocument(value.text).root == value)
    let expected = #"{"a":[1,null],"b":"x\ny"}"#
    #expect(
      String(decoding: (["a": [1, nil], "b": "x\ny"] as JSONValue).text, as: UTF8.self) == expected)
  }

  @Test func `of random values come back the same after being written`() throws {
    var random = SeededGenerator(seed: 3)
    let parser = JSONParser()
    for _ in 0..<500 {
      let value = Self.randomValue(&random, depth: 4)
      #expect(try parser.parse(value.text) == value)
    }
  }

  private static func randomValue(_ random: inout SeededGenerator, depth: Int) -> JSONValue {
    switch random.next() % (depth > 0 ? 7 : 5) {
    case 0: return nil
    case 1: return .bool(random.next() % 2 == 0)
    case 2: return .integer(Int64(bitPattern: random.next()))
    case 3: return .double(Double(Int64(bitPattern: random.next()) >> 20) / 1_024 + 0.0001)
    case 4:
      let scalars = (0..<Int(random.next() % 12)).compactMap { _ in
        Unicode.Scalar(UInt32(random.next() % 0x1_0FFF))
      }
      var text = ""
      text.unicodeScalars.append(contentsOf: scalars)
      return .string(text)
    case 5:
      return .array(
        (0..<Int(random.next() % 5)).map { _ in randomValue(&random, depth: depth - 1) })
    default:
      return .object(
        JSONObject(
          (0..<Int(random.next() % 5)).map {
            .init(key: "k\($0)\"", value: randomValue(&random, depth: depth - 1))
          }))
    }
  }
}

@Suite struct WrittenNumberTests {
  @Test func `buffers grow and are emptied from the front without losing a byte`() {
    var random = SeededGenerator(seed: 5)
    var buffer = ByteBuffer(capacity: 16)
    var expected: [UInt8] = []
    for _ in 0..<5_000 {
      if random.next() % 3 > 0 {
        let piece = (0..<Int(random.next() % 40)).map { UInt8(truncatingIfNeeded: $0) }
        buffer.append(piece)
        expected += piece
      } else {
        let count = expected.isEmpty ? 0 : Int(random.next() % UInt64(expected.count + 1))
        buffer.removeFirst(count)
        expected.removeFirst(count)
      }
      let same = Array(buffer.bytes) == expected
      #expect(same)
    }
  }

  @Test func `buffers take a half-written entry back`() {
    var buffer = ByteBuffer(capacity: 16)
    buffer.append("keep")
    buffer.append("drop")
    buffer.truncate(to: 4)
    let text = String(decoding: buffer.bytes, as: UTF8.self)
    #expect(text == "keep")
  }
}

@Suite struct JSONObjectTests {
  private let parser = JSONParser()

  private func isObject(_ text: [UInt8]) -> Bool { text.withUnsafeBytes { parser.isObject($0) } }

  @Test(arguments: [
    "{}", " { } \n", #"{"a":[1,-2.5e+3,0,true,false,null,"x"],"b":{"c":{}}}"#,
    #"{"a":"\u00e9\n\\\"/ é 🎉"}"#, #"{"":""}"#,
  ])
  func `objects are recognised`(text: String) { #expect(isObject(Array(text.utf8))) }

  @Test(arguments: [
    "", "null", "[]", "1", "{", #"{"a"}"#, #"{"a":1,}"#, #"{"a":01}"#, #"{"a":nul}"#, #"{"a":"x}"#,
    "{\"a\":\"\n\"}", #"{"a":"\x"}"#, "{} {}", "{}x", #"[{"a":1}]"#,
  ])
  func `everything else is not`(text: String) { #expect(!isObject(Array(text.utf8))) }

  @Test func `broken UTF-8 and a great depth are not`() {
    #expect(!isObject(Array(#"{"a":""#.utf8) + [0xC0, 0x80] + Array(#""}"#.utf8)))
    let deep = String(repeating: #"{"a":"#, count: 1_000_000)
    #expect(!isObject(Array((deep + "1" + String(repeating: "}", count: 1_000_000)).utf8)))
  }
}
