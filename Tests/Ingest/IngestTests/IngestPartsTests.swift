// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Testing
import Waiting

@testable import Ingest

@Suite struct IngestPartsTests {
  private func hash(_ text: String, _ hash: KeyHash) -> KeyHash.Value {
    Array(text.utf8).withUnsafeBytes { hash.value($0) }
  }

  @Test func `hashes of keys show any change of length or content`() {
    let first = KeyHash(1, 2)
    var values: [KeyHash.Value] = []
    for length in 0..<100 { values.append(hash(String(repeating: "a", count: length), first)) }
    for length in 1..<100 {
      values.append(hash(String(repeating: "a", count: length - 1) + "b", first))
    }
    for index in values.indices {
      for other in values.indices where other > index { #expect(values[index] != values[other]) }
    }
    #expect(hash("abc", first) == hash("abc", KeyHash(1, 2)))
    #expect(hash("abc", first) != hash("abc", KeyHash(1, 3)))
  }

  @Test func `a set of keys is what a Swift set is, through growth and removals`() {
    var random = SeededGenerator(seed: 1)
    var set = KeySet(limit: 100_000)
    var expected: Set<UInt64> = []
    func key(_ number: UInt64) -> KeyHash.Value {
      // Few places, so that many keys meet in one; the last of them goes on at the first.
      KeyHash.Value(low: (number & 15) << 60 | 0xFFF_FFFF_FFFF_FFFF, high: (number &+ 1) << 1)
    }
    for _ in 0..<20_000 {
      let number = random.next() % 400
      if random.next() % 2 == 0 {
        // The last word says whether it is marked.
        set.insert(key(number), isMarked: number % 2 == 0)
        set.insert(key(number), isMarked: number % 3 == 0)
        expected.insert(number)
      } else {
        set.remove(key(number))
        expected.remove(number)
      }
    }
    let count = set.count
    #expect(count == expected.count)
    for number in 0..<UInt64(400) {
      let isMarked = set.find(key(number))
      #expect(isMarked == (expected.contains(number) ? number % 3 == 0 : nil))
    }
    set.removeAll()
    let isEmpty = set.count == 0
    #expect(isEmpty)
  }

  @Test
  func `sets of keys take at most 32 bytes for each of a million keys, and for any number of them`()
  {
    var random = SeededGenerator(seed: 1)
    var set = KeySet(limit: .max)
    var (most, atMillion) = (0.0, 0.0)
    for number in 1...1_300_000 {
      set.insert(.init(low: random.next(), high: random.next()))
      let each = Double(set.bytes) / Double(number)
      if number > 100 { most = max(most, each) }
      if number == 1_000_000 { atMillion = each }
    }
    #expect(most <= 32.5 && atMillion <= 32)
    let count = set.count
    #expect(count == 1_300_000)
  }

  @Test func `sets of keys stop remembering at the limit instead of growing`() {
    var set = KeySet(limit: 10)
    for number in 0..<UInt64(25) { set.insert(.init(low: number, high: 1)) }
    let (count, refused, knowsLast) = (
      set.count, set.refused, set.find(.init(low: 24, high: 1)) != nil
    )
    #expect(count == 10)
    #expect(refused == 15)
    #expect(!knowsLast)
  }

  @Test func `in a full set of keys marked ones take the places of the others`() {
    var set = KeySet(limit: 10)
    func key(_ number: UInt64) -> KeyHash.Value { .init(low: number, high: 2) }
    for number in 0..<UInt64(10) { set.insert(key(number)) }
    for number in 10..<UInt64(25) { set.insert(key(number), isMarked: true) }
    let (count, refused) = (set.count, set.refused)
    #expect(count == 10)
    #expect(refused == 15)
    var found: [UInt64] = []
    for number in 0..<UInt64(25) where set.find(key(number)) != nil { found.append(number) }
    #expect(found == Array(10..<20))
  }

  @Test func `what a receipt quotes of a text ends with a whole character`() {
    func beginning(_ text: String, _ most: Int) -> String? {
      Array(text.utf8).withUnsafeBytes { text in
        String(validating: IngestLoop.beginning(of: text, most), as: UTF8.self)
      }
    }
    #expect(beginning("aé", 2) == "a" && beginning("aé", 3) == "aé" && beginning("aéb", 3) == "aé")
    #expect(beginning("a😀", 4) == "a" && beginning("😀", 1) == "")
    #expect(beginning("abc", 2) == "ab" && beginning("abc", 9) == "abc" && beginning("", 2) == "")
  }

  @Test func `tags carry kind and slot through the producer`() {
    for kind in [RecordTag.Kind.ofRequest, .receipts] {
      for slot in [0, 1, 999_999] {
        let tag = RecordTag(RecordTag(kind, slot: slot).number)
        #expect(tag.slot == slot && tag.kind == kind)
      }
    }
  }

  @Test func `name a notification by its request's place when there is no id`() throws {
    let reader = RequestReader()
    let text =
      #"{"app":"a.b","environment":"sandbox","token":"00ff","payload":{"aps":{"alert":"x"}}}"#
    let id = try Array(text.utf8).withUnsafeBytes { bytes in
      let request = try reader.read(bytes)
      var naming = NotificationNaming()
      naming.begin(request, topic: Array("push.requests".utf8), partition: 3, offset: 77)
      return naming.id(request.tokens[0])
    }
    // Computed by another program.
    #expect(id.description == "cb60be53-cf14-5bea-9ca6-22cf714c029f")
  }
}
