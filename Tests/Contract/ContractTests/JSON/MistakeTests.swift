// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Records

@Suite struct JSONMistakeTests {
  @Test(arguments: [
    ("\u{FEFF}[1]", "begins with a byte order mark", 0),
    (#"[{"a":1,}]"#, "a comma stands before the closing }", 7),
    ("[1,\n  ]", "a comma stands before the closing ]", 2),
    (#"["a,]", 1,]"#, "a comma stands before the closing ]", 9),
    (#"["\",]",]"#, "a comma stands before the closing ]", 7),
    ("[1, // one\n 2]", "a comment", 4), ("[ # one\n 2]", "a comment", 2),
    ("{'a': 1}", "a single quotation mark", 1), ("[“a”]", "a typographic quotation mark", 1),
  ])
  func `mistakes are named, with their place`(text: String, words: String, offset: Int) throws {
    let error = try #require(throws: JSONError.self) { try JSONDocument(text) }
    #expect(error.problem.contains(words), "\(error)")
    #expect(error.offset == offset)
  }

  @Test(arguments: [#"["a"#, "[1 2]", "{", "", #"["\"#, "[\u{201}]", "nul", "[,]x"])
  func `of other kinds are the parser's to name`(text: String) throws {
    let error = try #require(throws: JSONError.self) { try JSONDocument(text) }
    #expect(!error.problem.isEmpty)
  }

  @Test(arguments: [#"[",]"]"#, ##"["//", "#", "'"]"##, "[1 , 2]"])
  func `mistakes are not seen in texts`(text: String) throws { _ = try JSONDocument(text) }
}
