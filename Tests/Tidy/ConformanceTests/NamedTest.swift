// SPDX-License-Identifier: Apache-2.0
import Glibc

/// One test of this repository as its source names it.
struct NamedTest {
  /// The test target's folder, `SenderTests`.
  let target: String
  /// The display name, or the function's name.
  let name: String
  /// What stands between the parentheses of `@Test(…)`.
  let attribute: String

  /// Whether it runs once for every case of a type, `Reason` say.
  func coversAll(of type: String) -> Bool { attribute.contains("arguments: \(type).allCases") }

  /// Whether the display name holds a word: nothing that could belong to it stands beside it.
  func mentions(_ word: String) -> Bool {
    var rest = name[...]
    while let place = rest.firstRange(of: word) {
      let before =
        place.lowerBound == name.startIndex ? nil : name[name.index(before: place.lowerBound)]
      let after = place.upperBound == name.endIndex ? nil : name[place.upperBound]
      if ![before, after].contains(where: { $0.map { $0.isLetter || $0.isNumber } ?? false }) {
        return true
      }
      rest = rest[place.upperBound...]
    }
    return false
  }

  /// Every `@Test` in a source text.
  static func all(in text: String, target: String) -> [NamedTest] {
    text.split(separator: "@Test", omittingEmptySubsequences: false).dropFirst().compactMap {
      piece in
      let (attribute, rest) = attribute(of: piece)
      guard let name = literal(in: attribute[...]) ?? functionName(in: rest) else { return nil }
      return NamedTest(target: target, name: name, attribute: attribute)
    }
  }

  /// The text up to the parenthesis that closes the attribute, strings left out of the count.
  private static func attribute(of piece: Substring) -> (String, Substring) {
    guard piece.first == "(" else { return ("", piece) }
    var depth = 0
    var isString = false
    var previous: Character = " "
    for (place, letter) in zip(piece.indices, piece) {
      if letter == "\"", previous != "\\" { isString.toggle() }
      if !isString { depth += letter == "(" ? 1 : letter == ")" ? -1 : 0 }
      if depth == 0 { return (String(piece[..<place]), piece[place...]) }
      previous = letter
    }
    return (String(piece), "")
  }

  /// The display name: the literal that the attribute begins with.
  private static func literal(in attribute: Substring) -> String? {
    let text = attribute.drop { $0 == "(" || $0.isWhitespace }
    guard text.first == "\"" else { return nil }
    return String(text.dropFirst().prefix { $0 != "\"" })
  }

  private static func functionName(in text: Substring) -> String? {
    guard let place = text.firstRange(of: "func ") else { return nil }
    let rest = text[place.upperBound...]
    if rest.first == "`" { return String(rest.dropFirst().prefix { $0 != "`" }) }
    return String(rest.prefix { $0 != "(" && $0 != "<" })
  }
}

/// The tests of this repository, and the page that is checked against them.
struct TestIndex {
  let tests: [NamedTest]
  let root: String

  init(file: String = #filePath) {
    root = file.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
    let files = Self.output(of: "cd '\(root)' && find Tests -name '*Tests.swift' | sort")
    let root = self.root
    tests = files.split(separator: "\n").flatMap { path in
      NamedTest.all(
        in: Self.text("\(root)/\(path)"), target: String(path.split(separator: "/")[2]))
    }
  }

  static func text(_ path: String) -> String { content(fopen(path, "r")) { fclose($0) } }

  private static func output(of command: String) -> String {
    content(popen(command, "r")) { pclose($0) }
  }

  private static func content(
    _ file: UnsafeMutablePointer<FILE>?, _ close: (UnsafeMutablePointer<FILE>) -> Int32
  ) -> String {
    guard let file else { return "" }
    defer { _ = close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = fread(&piece, 1, piece.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += piece[..<count]
    }
  }
}
