// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Random
import Testing

@testable import TokenFiles

/// Files of device tokens in every form: `CSVRecords`, `JSONObjects`, `OneSignalRow`, `RpushRows`, `SQLDump`, `SQLWords`.
@Suite struct TokenFileTests {
  private func items(
    _ format: TokenFileFormat, _ text: String, table: String? = nil
  ) -> [ImportedLine] {
    var file = TokenFile(format, table: table)
    var found: [ImportedLine] = []
    for line in text.utf8.split(separator: 10, omittingEmptySubsequences: false) {
      found += file.read(Array(line))
    }
    return found + file.finish()
  }

  private func tokens(_ lines: [ImportedLine]) -> [ImportedToken] {
    lines.compactMap { if case .token(let token) = $0.item { token } else { nil } }
  }

  private func problems(_ lines: [ImportedLine]) -> [String] {
    lines.compactMap { line in
      guard case .problem(let field, let text) = line.item else { return nil }
      return "\(line.line) \(field ?? "-") \(text)"
    }
  }

  @Test func `a plain list has a token in each line, with blanks, quotes and commas around it`() {
    let found = items(.plain, "00ff\n\n  \"aa11\",\r\n<00ff 11>\n")
    #expect(tokens(found).map(\.token) == ["00ff", "aa11", "<00ff 11>"])
    #expect(found.map(\.line) == [1, 3, 4])
  }

  @Test func `a OneSignal export gives tokens with their last activity and details`() throws {
    let text = """
      \u{FEFF}id,identifier,session_count,language,timezone,game_version,device_os,device_type,tags,last_active,created_at,invalid_identifier,external_user_id
      1,00ff,3,en,0,1.2,17.1,0,"{""a"":""b, c""}",2026-11-01 10:00:00,2026-01-01 10:00:00,f,ann
      2,,3,en,0,1.2,17.1,0,{},2026-11-01 10:00:00,2026-01-01 10:00:00,f,
      3,aa,3,de,0,1.2,14,1,{},2026-11-01 10:00:00,2026-01-01 10:00:00,f,
      4,bb,3,de,0,,17,0,"two
      lines",,2026-01-01 10:00:00.5,f,
      5,cc,3,de,0,,17,0,{},yesterday,2026-01-01 10:00:00,f,
      6,dd,3,de,0,,17,0,{},,,t,
      7,ee
      8,ff,3,de,0,,17,iOSPush,{},,,,
      """
    let found = items(.onesignal, text)
    let known = tokens(found)
    #expect(known.map(\.token) == ["00ff", "bb", "ff"])
    #expect(known[0].registeredAt == 1_793_527_200_000)
    #expect(known[0].details.user == "ann" && known[0].details.locale == "en")
    #expect(known[0].details.appVersion == "1.2")
    #expect(known[1].registeredAt == 1_767_261_600_500)
    #expect(known[2].registeredAt == nil)
    #expect(
      problems(found) == [
        "7 last_active is not a time", "9 - the record has 2 fields, the first line 13",
      ])
    #expect(found.count { if case .skipped = $0.item { true } else { false } } == 3)
    #expect(problems(items(.onesignal, "id,name\n1,a")).first?.contains("identifier") == true)
  }

  @Test func `objects of Parse are found in lines, in an array, and in results`() {
    let (one, two) = (#"{"a":"}\"{","b":[{"c":1}]}"#, #"{"deviceToken":"x"}"#)
    for text in [
      "\(one)\n\(two)", "[\(one),\(two)]", "[\n  \(one) ,\n\(two)\n]\n",
      "{\"results\":[\(one),\(two)]}", "{ \"results\" : [\n\(one),\n\(two) ] }",
    ] {
      let objects = items(.parse, text).map { line in
        if case .object(let bytes) = line.item {
          String(decoding: bytes, as: UTF8.self)
        } else {
          ""
        }
      }
      #expect(objects == [one, two], "\(text)")
    }
    let broken = items(.parse, "[\(one),\nnonsense\n\(two)]\n{\"open\":")
    #expect(problems(broken) == ["2 - an object is expected", "4 - the file ends within it"])
    #expect(broken.map(\.line) == [1, 2, 3, 4])
  }

  @Test func `a pretty-printed object has the line in which it begins`() {
    let found = items(.parse, "[\n{\n\"a\":1\n},\n{\n\"b\":2\n}\n]")
    #expect(found.map(\.line) == [2, 5])
  }

  private let copy = """
    --
    COPY public.rpush_apps (id, name, environment, bundle_id) FROM stdin;
    1\tshop\tproduction\tcom.example.shop
    2\told\tdevelopment\t\\N
    \\.
    COPY public.rpush_feedback (id, device_token, failed_at, created_at, app_id) FROM stdin;
    1\t00ff\t2026-11-01 10:00:00.25\t2026-11-01 10:00:01\t1
    2\taa\t2026-11-01 10:00:00\t2026-11-01 10:00:01\t2
    3\tbb\t\\N\t2026-11-01 10:00:01\t2
    4\tcc
    \\.
    COPY public.rpush_notifications (id, device_token) FROM stdin;
    1\tdd
    \\.
    COPY public.mobile_devices (id, platform, device_token, user_id, updated_at, locale) FROM stdin;
    1\tios\tee\t17\t2026-11-01 10:00:00+01\ten\\tGB
    2\tandroid\tff\t18\t2026-11-01 10:00:00+01\ten
    3\tios\t\\N\t18\t2026-11-01 10:00:00+01\ten
    \\.

    """

  @Test func `a dump of pg_dump gives invalid tokens of rpush and the application's devices`() {
    let found = items(.rpush, copy)
    let known = tokens(found)
    #expect(known.map(\.token) == ["00ff", "aa", "ee"])
    #expect(known[0].app == "com.example.shop" && known[0].environment == .production)
    #expect(known[0].invalidation?.since == 1_793_527_200_250 && known[0].registeredAt == nil)
    #expect(known[1].app == nil && known[1].environment == .sandbox)
    #expect(known[2].registeredAt == 1_793_523_600_000 && known[2].details.user == "17")
    #expect(known[2].details.locale == "en\tGB")
    #expect(
      problems(found) == ["9 failed_at is required", "10 - the row has 2 values, not 5"])
    #expect(found.count { if case .skipped = $0.item { true } else { false } } == 2)
    #expect(tokens(items(.rpush, copy, table: "rpush_notifications")).count == 3)
  }

  @Test func `a dump of mysqldump gives the same, with the columns of CREATE TABLE`() {
    let text = """
      -- MySQL dump 10.13
      CREATE TABLE `rpush_feedback` (
        `id` int(11) NOT NULL AUTO_INCREMENT,
        `device_token` varchar(64) DEFAULT NULL,
        `failed_at` datetime NOT NULL,
        `key` text,
        PRIMARY KEY (`id`),
        KEY `index_rpush_feedback_on_device_token` (`device_token`)
      ) ENGINE=InnoDB;
      LOCK TABLES `rpush_feedback` WRITE;
      INSERT INTO `rpush_feedback` VALUES (1,'00ff','2026-11-01 10:00:00','it\\'s ),( a'),(2,'aa','2026-11-01 10:00:00',NULL),(3,'bb','never','');
      INSERT INTO `rpush_feedback` VALUES (4,'cc');
      INSERT INTO `rpush_feedback` VALUES (5,'dd','2026-11-01 10:00:00','open
      INSERT INTO user_devices (token, updated_at, locale) VALUES ('ee', '2026-11-01T10:00:00Z', E'a''b');
      INSERT INTO `other_devices` VALUES ('ff');
      """
    let found = items(.rpush, text)
    #expect(tokens(found).map(\.token) == ["00ff", "aa", "ee"])
    #expect(tokens(found)[2].details.locale == "a'b")
    #expect(
      problems(found) == [
        "11 failed_at is not a time", "12 - a row has 2 values for 4 columns",
        "13 - the values of an INSERT do not end in this line",
        "15 - a row has 1 values for unknown columns",
      ])
  }

  @Test func `times are read with a zone, a fraction, or as a number`() {
    let time: Int64 = 1_793_527_200_000
    for text in [
      "2026-11-01 10:00:00", "2026-11-01T10:00:00Z", "2026-11-01 10:00:00.000000",
      "2026-11-01 10:00:00 UTC", "2026-11-01 12:00:00+02", "2026-11-01T08:30:00.000-0130",
      "2026-11-01 10:00", "1793527200", "1793527200000",
    ] { #expect(ImportedTime.milliseconds(text) == time, "\(text)") }
    #expect(ImportedTime.milliseconds("2026-11-01") == time - 36_000_000)
    #expect(ImportedTime.milliseconds("1970-01-01 00:00:00.5") == 500)
    for text in ["", "2026-1-1", "2026-13-01", "2026-11-01 25:00", "2026-11-01 10:00:00 CET", "-5"]
    {
      #expect(ImportedTime.milliseconds(text) == nil, "\(text)")
    }
  }

  @Test func `the first line determines the format of a file`() {
    let forms: [(String, TokenFileFormat)] = [
      ("00ff", .plain), (#"{"token":"00ff"}"#, .ndjson), (#"{"deviceToken":"00ff"}"#, .parse),
      ("[", .parse), (#"{"results":["#, .parse), ("id,identifier,session_count", .onesignal),
      ("-- PostgreSQL database dump", .rpush), ("/*!40101 SET", .rpush),
      ("COPY public.x (a) FROM stdin;", .rpush),
    ]
    for (line, format) in forms {
      #expect(TokenFileFormat(firstLine: line.utf8) == format, "\(line)")
    }
  }

  @Test func `a line that is too long is one problem, and the next line counts`() {
    var file = TokenFile(.plain)
    var found = file.read(Array("aa".utf8), endsLine: false)
    found += file.read(Array("bb".utf8), endsLine: false)
    found += file.read(Array("cc".utf8))
    found += file.read(Array("00ff".utf8))
    #expect(problems(found) == ["1 - the line is too long"])
    #expect(tokens(found).map(\.token) == ["00ff"] && found.last?.line == 2)
  }

  /// Whatever the bytes and wherever they are cut, lines count up, and memory is bounded by what is open.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `any bytes give items whose lines never go back`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let letters = Array("{}[]\",'`\\()0fa;\t \u{FEFF}COPY INSERT INTO VALUES device".utf8)
    for format in TokenFileFormat.allCases {
      var file = TokenFile(format)
      var last = 1
      for _ in 0..<40 {
        let bytes = (0..<random.below(30)).map { _ in letters[random.below(letters.count)] }
        for found in file.read(bytes, endsLine: !random.oneIn(4)) {
          #expect(found.line >= last, "seed \(seed), \(format)")
          last = found.line
        }
      }
      _ = file.finish()
    }
  }
}
