// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct LogLineTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (1_795_223_384_123, "2026-11-21T01:09:44.123Z"),
    (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
  ])
  func `a moment is printed in UTC with milliseconds`(milliseconds: Int64, text: String) {
    #expect(Timestamp.text(milliseconds: milliseconds) == text)
  }

  private static let lost = LogEvent(
    milliseconds: 0, level: .warning, service: "martlet-sender", message: "connection lost",
    fields: [
      ("peer", .text("127.0.0.1:443")), ("why", .text("reset by peer")), ("left", .number(3)),
    ])

  @Test func `a line is time, level, service, message and fields`() {
    #expect(
      Self.lost.line(.text) == "1970-01-01T00:00:00.000Z warning martlet-sender connection lost"
        + " peer=127.0.0.1:443 why=\"reset by peer\" left=3")
    #expect(
      Self.lost.line(.logfmt)
        == "time=1970-01-01T00:00:00.000Z level=warning service=martlet-sender"
        + " msg=\"connection lost\" peer=127.0.0.1:443 why=\"reset by peer\" left=3")
    #expect(
      Self.lost.line(.json) == #"{"time":"1970-01-01T00:00:00.000Z","level":"warning","#
        + #""service":"martlet-sender","msg":"connection lost","peer":"127.0.0.1:443","#
        + #""why":"reset by peer","left":3}"#)
  }

  @Test(arguments: LogFormat.allCases)
  func `a text of others is quoted only so far, and how long it is is said`(format: LogFormat) {
    let key = String(repeating: "k", count: 29_999) + "!"
    let event = LogEvent(
      milliseconds: 0, level: .info, service: "s", message: "m", fields: [("key", .text(key))])
    let line = event.line(format)
    #expect(line.utf8.count < 1_200 && line.contains("kkk… (30000 bytes)") && !line.contains("!"))
    let long = LogEvent(milliseconds: 0, level: .info, service: "s", message: key)
    #expect(long.line(format).utf8.count < 1_200)
    // Not in the middle of a character.
    let wide = LogEvent(
      milliseconds: 0, level: .info, service: "s",
      message: "x" + String(repeating: "é", count: 20_000))
    #expect(
      !wide.line(format).contains("\u{FFFD}") && wide.line(format).contains("é… (40001 bytes)"))
    let fits = String(repeating: "k", count: LogEvent.longestText)
    let whole = LogEvent(
      milliseconds: 0, level: .info, service: "s", message: "m", fields: [("key", .text(fits))])
    #expect(whole.line(format).contains(fits) && !whole.line(format).contains("…"))
  }

  @Test
  func
    `in the journal a line begins with its priority, and has no time but where programs read it`()
  {
    #expect(
      Self.lost.line(.text, isForJournal: true)
        == "<4>warning martlet-sender connection lost peer=127.0.0.1:443 why=\"reset by peer\" left=3"
    )
    #expect(Self.lost.line(.json, isForJournal: true) == "<4>" + Self.lost.line(.json))
    #expect(Self.lost.line(.logfmt, isForJournal: true) == "<4>" + Self.lost.line(.logfmt))
    #expect(LogLevel.allCases.map(\.journalPrefix) == ["<7>", "<6>", "<4>", "<3>"])
  }

  @Test(arguments: [
    ("/srv/martlet/a.properties", "/srv/martlet/a.properties"),
    ("/srv/my folder", "'/srv/my folder'"),
    ("it's", #"'it'\''s'"#), ("", "''"), ("$HOME;ls", "'$HOME;ls'"), ("ü", "'ü'"),
  ])
  func `a word of a command that is shown is one word of a shell`(text: String, word: String) {
    #expect(ShellWord.quoted(text) == word)
  }

  @Test func `no value can break out of its line or its quotes`() {
    let event = LogEvent(
      milliseconds: 0, level: .info, service: "s", message: "a\nb\"",
      fields: [("x", .text("1\n2\"3\\4\u{1b}")), ("y", .text("")), ("msg", .text("z"))])
    #expect(
      event.line(.text)
        == "1970-01-01T00:00:00.000Z info s a b\" x=\"1\\n2\\\"3\\\\4\\u{1b}\" y=\"\" msg=z")
    #expect(event.line(.logfmt).hasSuffix(#" msg="a\nb\"" x="1\n2\"3\\4\u{1b}" y="" msg_=z"#))
    #expect(
      event.line(.json).hasSuffix(
        #","msg":"a\u000ab\"","x":"1\u000a2\"3\\4\u001b","y":"","msg_":"z"}"#))
  }

  @Test func `levels are ordered and read back`() {
    #expect(LogLevel.debug < .info && LogLevel.info < .warning && LogLevel.warning < .error)
    for level in LogLevel.allCases { #expect(LogLevel(text: level.text) == level) }
    #expect(LogLevel(text: "loud") == nil)
  }
}
