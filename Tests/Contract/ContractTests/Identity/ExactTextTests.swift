// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite("Text that identifies something is compared by its bytes")
struct ExactTextTests {
  /// Pairs that `String` takes for equal, and whose bytes differ: Unicode's canonical equivalents.
  static let twins: [(String, String)] = [
    ("\u{E9}", "e\u{301}"), ("\u{C5}", "A\u{30A}"), ("\u{212B}", "\u{C5}"), ("\u{212A}", "K"),
    ("\u{AC00}", "\u{1100}\u{1161}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"), ("\u{37E}", ";"),
  ]

  @Test("twins are two keys, two members, and not equal", arguments: Self.twins)
  func compare(one: String, other: String) {
    #expect(one == other)
    #expect(one.exact != other.exact)
    #expect(Set([one.exact, other.exact, ExactText(one)]).count == 2)
    #expect([one.exact: 1, other.exact: 2][other.exact] == 2)
    #expect((one.exact < other.exact) != (other.exact < one.exact))
  }

  @Test("a text is equal to itself, however it is stored")
  func storage() {
    let long = String(repeating: "order-1234567-", count: 9)
    for text in ["", "a", "exactly8", "nine byte", long] {
      let copy = String(decoding: Array(text.utf8), as: UTF8.self)
      #expect(text.exact == copy.exact)
      #expect(text.exact.hashValue == copy.exact.hashValue)
      #expect("x\(text)".dropFirst().exact == text.exact)
    }
    #expect(Set(["".exact, "\0".exact, "\0\0".exact]).count == 3)
  }

  @Test("the order is that of the bytes")
  func order() {
    let sorted = ["Z", "a", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{10000}"].map(\.exact)
    #expect(sorted.shuffled().sorted() == sorted)
  }
}
