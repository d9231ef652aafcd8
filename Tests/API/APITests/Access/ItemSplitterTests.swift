// SPDX-License-Identifier: Apache-2.0
import Access
import Testing
import Waiting

@Suite struct ItemSplitterTests {
  /// The items of a body that arrives in pieces of this many bytes.
  private func items(
    _ body: String, _ form: ItemSplitter.Form, piece: Int = .max
  ) throws(ItemSplitter.Problem) -> [String] {
    var splitter = ItemSplitter(form)
    var (held, rest, found) = ([UInt8](), Array(body.utf8)[...], [String]())
    repeat {
      held += rest.prefix(piece)
      rest = rest.dropFirst(piece)
      while let range = try splitter.next(in: held.span, isEnd: rest.isEmpty) {
        found.append(String(decoding: held[range], as: UTF8.self))
      }
      held.removeFirst(splitter.passed)
      splitter.removedPassed()
    } while !rest.isEmpty
    return found
  }

  @Test func `lines are items, empty ones are none`() throws {
    #expect(try items("{\"a\":1}\n\n{}\r\n\r\nlast", .lines) == ["{\"a\":1}", "{}", "last"])
    #expect(try items("", .lines).isEmpty)
    #expect(try items("\n\n", .lines).isEmpty)
  }

  @Test func `one object is one item`() throws {
    #expect(try items(" {\"a\":\"}\\\"{\"} \n", .document) == ["{\"a\":\"}\\\"{\"}"])
  }

  @Test func `the elements of an array are items`() throws {
    #expect(
      try items(#"[ {"a":[1,{"b":"],"}]} ,{},  7, "x,y" ] "#, .document)
        == [#"{"a":[1,{"b":"],"}]}"#, "{}", "7", "\"x,y\""])
    #expect(try items("[]", .document).isEmpty)
  }

  @Test(arguments: [
    ("7", ItemSplitter.Problem.notADocument), ("", .empty), ("[{},]", .expectedElement),
    ("[,{}]", .expectedElement), ("[{} {}]", .expectedComma), ("{}{}", .afterTheEnd),
    ("[]]", .afterTheEnd), ("[{}", .unfinished), ("{\"a\":\"", .unfinished),
    ("\u{FEFF}{}", .byteOrderMark), ("\n\u{FEFF}[{}]", .byteOrderMark), ("｛｝", .notADocument),
  ]) func `a broken body is refused`(_ body: String, _ problem: ItemSplitter.Problem) {
    #expect(throws: problem) { try items(body, .document) }
  }

  @Test(arguments: 1...40) func `pieces of any size give the same items`(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let parts = ["{\"a\":\"\\\"}\"}", "{}", "[1,[2]]", "\"é,]\"", "true", "{\"b\":{\"c\":[{}]}}"]
    let chosen = (0..<Int.random(in: 0...6, using: &random)).map { _ in
      parts.randomElement(using: &random) ?? ""
    }
    let body = "[" + chosen.joined(separator: " ,\n") + "]"
    for piece in 1...9 {
      #expect(try items(body, .document, piece: piece) == chosen)
      #expect(try items(chosen.joined(separator: "\n"), .lines, piece: piece) == chosen)
    }
  }
}
