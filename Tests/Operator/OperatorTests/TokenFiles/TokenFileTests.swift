// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import OperatorCommand

/// Files of device tokens in both forms.
@Suite struct TokenFileTests {
  private func items(_ format: TokenFileFormat, _ text: String) -> [ImportedLine] {
    var file = TokenFile(format)
    return text.utf8.split(separator: 10, omittingEmptySubsequences: false)
      .compactMap { file.read(Array($0)) }
  }

  private func tokens(_ lines: [ImportedLine]) -> [ImportedToken] {
    lines.compactMap { if case .token(let token) = $0.item { token } else { nil } }
  }

  @Test func `a plain list has a token in each line, with blanks, quotes and commas around it`() {
    let found = items(.plain, "00ff\n\n  \"aa11\",\r\n<00ff 11>\n")
    #expect(tokens(found).map(\.token) == ["00ff", "aa11", "<00ff 11>"])
    #expect(found.map(\.line) == [1, 3, 4])
  }

  @Test func `each line of NDJSON that is not empty is an object, whatever stands in it`() {
    let found = items(.ndjson, "{\"token\":\"00ff\"}\r\n \n{")
    #expect(
      found == [
        ImportedLine(line: 1, item: .object(Array("{\"token\":\"00ff\"}\r".utf8))),
        ImportedLine(line: 3, item: .object([0x7B])),
      ])
  }

  @Test func `the first line determines the format of a file, and exports of others are none`() {
    let forms: [(String, TokenFileFormat?)] = [
      ("00ff", .plain), ("\"00ff\",", .plain), (#"{"token":"00ff"}"#, .ndjson), ("{}", .ndjson),
      (#"{"deviceToken":"00ff"}"#, nil), ("[", nil), (#"{"results":["#, nil),
      (#"{"ChannelType":"APNS"}"#, nil), (#"{"apns_tokens":[]}"#, nil),
      ("\u{FEFF}id,identifier,session_count", nil), ("00ff,ios", nil),
      ("-- PostgreSQL database dump", nil), ("/*!40101 SET", nil),
      ("COPY public.x (a) FROM stdin;", nil), ("INSERT INTO x VALUES (1);", nil),
    ]
    for (line, format) in forms {
      #expect(TokenFileFormat(firstLine: line.utf8) == format, "\(line)")
    }
  }

  @Test func `a line that is too long is one problem, and the next line counts`() {
    var file = TokenFile(.plain)
    let pieces = [
      file.read(Array("aa".utf8), endsLine: false), file.read(Array("bb".utf8), endsLine: false),
      file.read(Array("cc".utf8)), file.read(Array("00ff".utf8)),
    ]
    let found = pieces.compactMap { $0 }
    #expect(found.first?.item == .problem(field: nil, "the line is too long"))
    #expect(tokens(found).map(\.token) == ["00ff"] && found.map(\.line) == [1, 2])
  }

  /// Whatever the bytes and wherever they are cut, lines count up.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `any bytes give items whose lines never go back`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let letters = Array("{}[]\",'`\\()0fa;\t \u{FEFF}".utf8)
    for format in TokenFileFormat.allCases {
      var file = TokenFile(format)
      var last = 0
      for _ in 0..<40 {
        let bytes = (0..<random.below(30)).map { _ in letters[random.below(letters.count)] }
        guard let found = file.read(bytes, endsLine: !random.oneIn(4)) else { continue }
        #expect(found.line > last, "seed \(seed), \(format)")
        last = found.line
      }
    }
  }
}
