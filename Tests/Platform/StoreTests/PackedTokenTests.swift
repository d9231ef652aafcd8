// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing
import Waiting

@testable import Store

/// Tokens as SQLite's tables have them.
@Suite struct PackedTokenTests {
  private let folder = TemporaryFolder()
  /// What is in a token's place and is none, beside tokens: each is another device.
  private static let others = [
    "", "0", "abc", "AB", "aB12", "zz", "0g", "token", "é1", "00ff0", "@a",
  ]
  private static let tokens = ["00", "0a", "ff", "00ff", "0123456789abcdef", "aabbccddeeff001122"]

  private func packed(_ text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: text.utf8.count / 2)
    let isPacked = bytes.withUnsafeMutableBufferPointer {
      PackedToken.pack(text.utf8.span, into: $0.baseAddress!)
    }
    return isPacked ? bytes : nil
  }

  @Test func `digits come back from their bytes, in every length`() throws {
    var random = SeededGenerator(seed: 7)
    for count in 1...DeviceToken.maximumDigits / 2 {
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let digits = bytes.map { hexadecimal($0) }.joined()
      #expect(packed(digits) == bytes)
      #expect(bytes.withUnsafeBufferPointer { PackedToken.digits($0) } == digits)
    }
  }

  private func hexadecimal(_ byte: UInt8) -> String {
    String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
  }

  @Test func `every text comes back from PostgreSQL's bytes, and no two are the same there`() {
    let texts = Self.tokens + Self.others + ["0061", "\0", "01", "000161"]
    for text in texts { #expect(PackedToken.token(postgres: PackedToken.postgres(text)) == text) }
    #expect(Set(texts.map(PackedToken.postgres)).count == texts.count)
    #expect(
      PackedToken.postgres("00ff") == #"\x0100ff"# && PackedToken.postgres("AB") == #"\x004142"#)
    // What it has not made.
    for text in ["", "\\x", "\\x0", "ab", #"\x02ab"#, #"\x004"#] {
      #expect(PackedToken.token(postgres: text).isEmpty, "\(text)")
    }
  }

  @Test(arguments: [2, 4, 8, 10, 16, 18])
  func `every byte in every place is a lower-case digit, or nothing is packed`(count: Int) {
    let digits = Array("0123456789abcdef".utf8)
    for place in 0..<count {
      for byte in UInt8.min...UInt8.max {
        var text = (0..<count).map { digits[$0 % 16] }
        text[place] = byte
        var bytes = [UInt8](repeating: 0, count: count / 2)
        let isPacked = bytes.withUnsafeMutableBufferPointer {
          PackedToken.pack(text.span, into: $0.baseAddress!)
        }
        #expect(isPacked == digits.contains(byte), "\(byte) at \(place)")
      }
    }
  }

  @Test func `an empty text and half a byte are not packed`() {
    for text in Self.others { #expect(text.isEmpty || packed(text) == nil, "\(text)") }
    var byte: UInt8 = 0
    #expect(!PackedToken.pack([UInt8]().span, into: &byte))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what is no token is a device of its own, and all are found in one order`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let all = (Self.others + Self.tokens).filter { !$0.isEmpty }
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: all.map(device))
      for (index, text) in all.enumerated() {
        rows[device(text)] = DeviceState(presence: .registered(at: Int64(index)))
      }
      try store.write(rows)
    }
    for (index, text) in all.enumerated() {
      let state = DeviceState(presence: .registered(at: Int64(index)))
      #expect(try store.device(device(text)).presence == state.presence, "\(text)")
      #expect(try TokenStoreReader(location).devices(token: text).map(\.device) == [device(text)])
    }
    var found: [String] = []
    try TokenStoreReader(location).forEachDevice(DeviceFilter(), pageSize: 1) {
      found.append($0.device.token)
      return true
    }
    #expect(Set(found) == Set(all) && found.count == all.count)
    let tokens = found.filter(Self.tokens.contains)
    #expect(tokens == Self.tokens.sorted())
    try store.put(device("abc"), DeviceState())
    #expect(try store.device(device("abc")) == DeviceState())
  }

  private func device(_ text: String) -> DeviceKey {
    DeviceKey(token: text, app: "com.example.app", environment: .production)
  }

  /// Where rows have to be looked at, it takes ten times as long.
  @Test func `marks are counted in the index alone`() throws {
    let store = try TokenStore(folder.file("plan.db"), now: 1)
    let plan = try store.database.prepare("EXPLAIN QUERY PLAN \(WaveStatements.marksSQL)")
    for index in 1...5 { plan.bind(Int32(index), Int64(index)) }
    var steps: [String] = []
    while try plan.next() { steps.append(plan.text(3)) }
    #expect(steps.contains { $0.contains("COVERING INDEX devices_dead") }, "\(steps)")
  }
}
