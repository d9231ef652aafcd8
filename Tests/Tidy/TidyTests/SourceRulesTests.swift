// SPDX-License-Identifier: Apache-2.0
import Testing

/// The rules themselves: a rule that finds nothing anywhere proves nothing.
@Suite struct SourceRulesTests {
  private func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  @Test(arguments: ["  let p: UnsafePointer<Int>", "  print(1)", "  let x = Int.random(in: 1...2)"])
  func `an impurity of values is found`(line: String) {
    #expect(!SourceRules.impurities([line[...]]).isEmpty)
  }

  @Test(arguments: ["public import APNS", "/// not unsafe at all", "let a = 1"])
  func `pure lines pass`(line: String) { #expect(SourceRules.impurities([line[...]]).isEmpty) }

  @Test func `a long line of prose is found, and tables and code are not`() {
    let long = String(repeating: "word ", count: 25)
    let text = "\(long)\n| \(long) |\n```sh\n\(long)\n```\n    \(long)\n"
    #expect(SourceRules.longDocumentLines(lines(text)).map(\.line) == [1])
    #expect(SourceRules.longDocumentLines([String(repeating: "é ", count: 60)[...]]).isEmpty)
    #expect(SourceRules.longDocumentLines([String(repeating: "a", count: 121)[...]]).isEmpty)
  }

  @Test func `a number that is read without bounds is found`() {
    for line in ["let a = value.int else", "a?.int ?? 0", "read(name, \\.int)", "x.int"] {
      #expect(SourceRules.readsAnyInteger(line[...]), "\(line)")
    }
    for line in ["a.int(0...1)", ".integer(1)", "interval.interval", "a.int8", "point"] {
      #expect(!SourceRules.readsAnyInteger(line[...]), "\(line)")
    }
  }

  @Test func `paths in a script are found`() {
    let text = "a=\"$root\"/Tests/A/b*.txt; cd Sources/C (../Tests/D.e). XTests/F"
    #expect(SourceRules.namedPaths(text) == ["Tests/A/b*.txt", "Sources/C", "Tests/D.e"])
  }

  @Test func `bytes that are no text are found`() {
    #expect(SourceRules.isText("é – text\n"))
    #expect(!SourceRules.isText("a\0b"))
    #expect(!SourceRules.isText(String(decoding: [0x89, 0x50, 0x4E, 0x47, 0xFF], as: UTF8.self)))
  }

  @Test func `links are cut out of Markdown`() {
    let text = "[a](x.md) [b](https://e.org/x) [c](docs/y.md#part) [d](#here) ![p](i.svg)"
    #expect(SourceRules.links(text) == ["x.md", "docs/y.md", "i.svg"])
  }
}
