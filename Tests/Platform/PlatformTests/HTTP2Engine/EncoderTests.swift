// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import HTTP

/// What one side's encoder writes the other side's decoder reads, whatever happens to the table.
@Suite struct EncoderTests {
  @Test(arguments: 0..<40)
  func `tables of any size that change in flight stay the same on both sides`(_ seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    var encoder = HeaderEncoder(blocksBetweenTurnovers: Int(seed % 4) * 10)
    var reading = HPACKTests.Reading()
    reading.decoder.changeLimit(8_192)
    let names = (0..<6).map { "name-\($0)" } + [":path", "authorization"]
    for _ in 0..<200 {
      if random.next() % 4 == 0 {
        // Several changes may come before the next block.
        for _ in 0..<(1 + random.next() % 3) {
          encoder.changeLimit([0, 33, 64, 100, 256, 4_096, 9_000][Int(random.next() % 7)])
        }
      }
      var fields: [[String]] = []
      let block = written { out in
        encoder.beginBlock(&out)
        for _ in 0..<(random.next() % 6) {
          let name = names[Int(random.next() % 8)]
          let value = String(repeating: "v\(random.next() % 9)", count: Int(random.next() % 30))
          let indexing: [FieldIndexing] = [.incremental, .literal]
          fields.append([name, value])
          encoder.append(
            Array(name.utf8).span, Array(value.utf8).span, indexing[Int(random.next() % 2)],
            to: &out)
        }
      }
      #expect(try reading.fields(of: block) == fields)
      #expect(reading.decoder.tableSize <= 4_096)
    }
  }

  @Test func `of two changes the smaller one is named first (RFC 7541 §4.2)`() {
    var encoder = HeaderEncoder()
    encoder.changeLimit(0)
    encoder.changeLimit(4_096)
    #expect(written { encoder.beginBlock(&$0) } == [0x20, 0x3F, 0xE1, 0x1F])
    #expect(written { encoder.beginBlock(&$0) } == [])
    encoder.changeLimit(4_096)
    #expect(written { encoder.beginBlock(&$0) } == [])
  }

  @Test
  func `a provider token as a literal is Huffman-coded, and never enters the table`() throws {
    var encoder = HeaderEncoder()
    var reading = HPACKTests.Reading()
    let token = Array("bearer aaaaaaaaaaaaaaaaaaaaaaaa".utf8)
    let name = Array("authorization".utf8)
    for _ in 0..<2 {
      let block = written { encoder.append(name.span, token.span, .literal, to: &$0) }
      // 24 times the five bits of `a`, and the 39 of what is before them.
      #expect(block.prefix(3) == [0x0F, 23 - 15, 0x80 | 20])
      #expect(block.count == 3 + 20)
      #expect(
        try reading.fields(of: block) == [
          ["authorization", String(decoding: token, as: UTF8.self)]
        ])
    }
  }

  @Test
  func `prepared fields are copied until the table changes, and read the same ever after`() throws {
    var encoder = HeaderEncoder()
    var reading = HPACKTests.Reading()
    var names = NameIndexes()
    let texts = [(":method", "POST"), (":scheme", "https"), (":authority", "gateway.test")]
    var fields = PreparedFields(
      key: 1,
      texts.map {
        PreparedFields.Field(
          name: Array($0.0.utf8), value: Array($0.1.utf8), indexing: .incremental)
      })
    var counts: [Int] = []
    for round in 0..<12 {
      if round == 6 { encoder.changeLimit(64) }
      if round == 9 { encoder.changeLimit(0) }
      let id = "id-\(round)"
      let block = written { out in
        encoder.beginBlock(&out)
        fields.append(with: &encoder, to: &out)
        names.append(.apnsID, Array(id.utf8).span, with: &encoder, to: &out)
      }
      counts.append(block.count)
      #expect(try reading.fields(of: block) == texts.map { [$0.0, $0.1] } + [["apns-id", id]])
    }
    // Indexes from the second block on, whole names once the table has no room.
    #expect(counts[2] == 3 + 2 + 1 + 4)
    #expect(counts[2...5].allSatisfy { $0 == counts[2] })
    #expect(counts[0] > counts[1])
    #expect(counts[11] > counts[5])
  }
}

/// More values than the table has room for.
@Suite struct FullTableTests {
  @Test
  func `values that do not fit are written out, and do not push each other out with every request`()
    throws
  {
    var encoder = HeaderEncoder(blocksBetweenTurnovers: 500)
    var reading = HPACKTests.Reading()
    let topics = (0..<200).map { "com.example.app-\($0)" }
    var entered: [Int] = []
    for _ in 0..<10 {
      var count = 0
      for topic in topics {
        let before = encoder.generation
        let block = written { out in
          encoder.beginBlock(&out)
          encoder.append(
            Array("apns-topic".utf8).span, Array(topic.utf8).span, .incremental, to: &out)
        }
        #expect(try reading.fields(of: block) == [["apns-topic", topic]])
        if encoder.generation > before { count += 1 }
      }
      entered.append(count)
    }
    // The table holds 66 of them. It is filled, turned over at once, and half of it three times more.
    #expect(entered[0] >= 2 * 66 && entered.reduce(0, +) <= 2 * 68 + 3 * 36, "\(entered)")
    #expect(entered.contains(0), "\(entered)")
  }

  /// With `--hpack-authorization index` each renewal puts a value into the table that is of no use an hour later.
  @Test(arguments: [10_000, 4_096, 600])
  func `provider tokens that were renewed leave the table, and nothing in use stays out`(
    limit: Int
  ) throws {
    var encoder = HeaderEncoder(blocksBetweenTurnovers: 100)
    encoder.changeLimit(limit)
    var reading = HPACKTests.Reading()
    var names = NameIndexes()
    var counts: [Int] = []
    for token in 0..<100 {
      var apps = (0..<3).map { app in
        PreparedFields(
          key: UInt64(app),
          [
            (":authority", "gateway.test"), ("apns-topic", "com.example.app-\(app)"),
            ("apns-push-type", "alert"),
            ("authorization", "bearer \(token)" + String(repeating: "x", count: 220)),
          ].map {
            PreparedFields.Field(
              name: Array($0.0.utf8), value: Array($0.1.utf8), indexing: .incremental)
          })
      }
      for number in 0..<300 {
        let block = written { out in
          encoder.beginBlock(&out)
          apps[number % 3].append(with: &encoder, to: &out)
          names.append(.apnsID, Array("id-\(number % 10)".utf8).span, with: &encoder, to: &out)
        }
        #expect(try reading.fields(of: block).count == 5)
        if number == 299 { counts.append(block.count) }
      }
    }
    // Four indexes of a byte or two, the index of a name, a length and a value.
    #expect(counts.allSatisfy { $0 <= 4 * 2 + 2 + 1 + 4 }, "\(counts)")
  }
}
