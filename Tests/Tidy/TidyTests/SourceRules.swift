// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What no source file may have, as functions over its lines.
///
/// Words that a rule forbids are spelt in two halves here, or this file would break it itself.
enum SourceRules {
  /// Bytes of a file.
  static let sizeLimit = 64 << 10

  /// Words that no file may hold, with the reason.
  static let bannedWords: [(word: String, reason: String)] = [
    ("TO" + "DO", "finish it or open an issue"),
    ("FIX" + "ME", "finish it or open an issue"),
    ("import Found" + "ation", "8 MB of program for what Glibc does"),
    ("/ho" + "me/", "a path of somebody's machine"),
    ("/ro" + "ot/", "a path of somebody's machine"),
    ("/wo" + "rk/", "a path of somebody's machine"),
    ("-Ouncheck" + "ed", "it removes checks and gained nothing when measured"),
  ]

  /// Whether a line has `JSONValue.int`, without the bounds of `int(_:)`.
  static func readsAnyInteger(_ line: Substring) -> Bool {
    let code = line.utf8.starts(with: "//".utf8) ? "" : line
    var rest = code.utf8[...]
    while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
      rest = rest[rest.index(after: dot)...]
      guard rest.starts(with: "int".utf8) else { continue }
      let next = rest.dropFirst(3).first ?? 0x20
      let isLonger =
        next == UInt8(ascii: "(") || next == UInt8(ascii: "_")
        || Character(UnicodeScalar(next)).isLetter || Character(UnicodeScalar(next)).isNumber
      if !isLonger { return true }
    }
    return false
  }

  /// Lanes and retry tiers as code would name them.
  static let namesOfLists = [
    "\"transactional\"", "\"bulk\"", ".bulk", ".seconds5", ".minute1", ".minutes15",
  ]

  /// As `String.contains`, which takes seconds over all files in a debug build.
  static func contains(_ text: String, _ word: String) -> Bool { strstr(text, word) != nil }

  /// As `!contains`: a file of bytes has zeros, or is no UTF-8 and was read with replacements.
  static func isText(_ text: String) -> Bool {
    strlen(text) == text.utf8.count && !contains(text, "\u{FFFD}")
  }

  /// Words that make a file of values more than that: pointers, clocks, output.
  static func impurities(_ lines: [Substring]) -> [String] {
    let banned = [
      "Unsafe", "unsafe", "Continuous" + "Clock", "Suspending" + "Clock", "print(", "random(",
      "SystemRandomNumber", "async ", "await ",
    ]
    return lines.filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }.flatMap { line in
      banned.filter { contains(String(line), $0) }
    }
  }

  /// Longest line of a document's prose, in characters.
  static let documentWidth = 120

  /// Lines of Markdown prose that are too long; tables, code and a word that cannot be broken are left out.
  static func longDocumentLines(_ lines: [Substring]) -> [(line: Int, count: Int)] {
    var found: [(line: Int, count: Int)] = []
    var isCode = false
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode, line.utf8.count > documentWidth, line.count > documentWidth,
        line.first(where: { $0 != " " }) != "|", !line.hasPrefix("    "),
        line.split(separator: " ").count > 1
      else { continue }
      found.append((index + 1, line.count))
    }
    return found
  }

  /// Targets of relative links in Markdown, without their anchors.
  static func links(_ text: String) -> [String] {
    text.matches(of: #/\]\(([^)\s#]+)(?:#[^)]*)?\)/#).map { String($0.1) }.filter {
      !$0.contains("://") && !$0.hasPrefix("mailto:")
    }
  }

  /// Paths below `Sources` and `Tests` that a text names, with `*` where it leaves a name out.
  static func namedPaths(_ text: String) -> [String] {
    text.matches(of: #/(?:^|[^A-Za-z0-9_.-])((?:Sources|Tests)(?:\/[A-Za-z0-9_.*+-]+)+)/#).map {
      var path = String($0.1)
      while path.last == "." { path.removeLast() }
      return path
    }
  }
}
