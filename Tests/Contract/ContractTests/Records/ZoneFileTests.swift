// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import TestSupport
import Testing

@testable import Contract

/// The time zone database of this system.
@Suite struct ZoneFileTests {
  private static let zones = [
    "Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Asia/Kathmandu",
    "Australia/Lord_Howe", "UTC",
  ]

  private static let times: [(String, Int64, Int64)] = [
    // 2026-12-24T09:00:00 and 2026-07-01T09:00:00.
    ("Europe/Berlin", 1_798_102_800, -3_600), ("Europe/Berlin", 1_782_896_400, -7_200),
    ("America/New_York", 1_798_102_800, 18_000), ("America/New_York", 1_782_896_400, 14_400),
    ("Pacific/Kiritimati", 1_798_102_800, -50_400), ("Asia/Kathmandu", 1_798_102_800, -20_700),
    ("Australia/Lord_Howe", 1_798_102_800, -39_600),
    ("Australia/Lord_Howe", 1_782_896_400, -37_800), ("UTC", 1_798_102_800, 0),
    // Skipped: 2026-03-29T02:30:00, 2026-03-08T02:30:00, 2026-10-04T02:15:00.
    ("Europe/Berlin", 1_774_751_400, -3_600), ("America/New_York", 1_772_937_000, 18_000),
    ("Australia/Lord_Howe", 1_791_080_100, -37_800),
    // Twice: 2026-10-25T02:30:00, 2026-11-01T01:30:00, 2026-04-05T01:45:00.
    ("Europe/Berlin", 1_792_895_400, -7_200), ("America/New_York", 1_793_496_600, 14_400),
    ("Australia/Lord_Howe", 1_775_353_500, -39_600),
    // 2050-01-01T12:00:00 and 2050-07-01T12:00:00, by the footer.
    ("Europe/Berlin", 2_524_651_200, -3_600), ("Europe/Berlin", 2_540_289_600, -7_200),
    ("America/New_York", 2_540_289_600, 14_400), ("Australia/Lord_Howe", 2_524_651_200, -39_600),
  ]

  @Test(arguments: times)
  func `a local time is an instant`(_ zone: String, _ local: Int64, _ ahead: Int64) throws {
    let rules = try #require(ZoneFile.rules(of: zone), "\(zone): is tzdata installed?")
    #expect(rules.instant(ofLocal: local * 1_000) == (local + ahead) * 1_000, "\(zone) \(local)")
  }

  @Test func `the edition is found by the files that systems have, and its age by theirs`() throws {
    let folder = TemporaryFolder()
    #expect(ZoneFile.edition(in: folder.path) == nil)
    let utc = try File.read("\(ZoneFile.folder)/UTC")
    try File.write(folder.file("UTC"), utc)
    #expect(ZoneFile.edition(in: folder.path)?.version == nil)
    try File.write(folder.file("VERSION"), Array("2024a\n".utf8))
    #expect(ZoneFile.edition(in: folder.path)?.version == "2024a")
    let file = folder.file("tzdata.zi")
    try File.write(file, Array("# version 2025b\n# ddeps\nR d 1916\n".utf8))
    let times = [
      timespec(tv_sec: 1_700_000_000, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 0),
    ]
    #expect(utimensat(AT_FDCWD, file, times, 0) == 0)
    let edition = try #require(ZoneFile.edition(in: folder.path))
    #expect(edition.version == "2025b" && edition.madeAt == 1_700_000_000_000)
    #expect(try #require(ZoneFile.edition()).version != nil, "the edition of this system")
  }

  @Test func `names are looked up once, and told apart by their bytes`() {
    var names = ZoneNames()
    func verdicts(_ name: String) -> [ZoneNames.Verdict] { [names.look(name), names.look(name)] }
    #expect(verdicts("Europe/Berlin") == [.exists, .exists])
    #expect(verdicts("Europe/Atlantis") == [.isNew, .isUnknown])
    #expect(verdicts("caf\u{E9}") == [.isNew, .isUnknown])
    #expect(verdicts("cafe\u{301}") == [.isNew, .isUnknown])
    #expect(verdicts("../UTC") == [.isNew, .isUnknown])
    for number in 0..<3_000 { _ = names.look("No/\(number)") }
    #expect(names.look("Europe/Berlin") == .exists)
  }

  @Test(arguments: zones)
  func `the footer says the same as the list of changes, from 2010 on`(_ zone: String) throws {
    let rules = try #require(ZoneFile.rules(of: zone))
    let footer = try #require(rules.footer)
    let short = ZoneRules(firstOffset: footer.offset, changes: [], footer: footer)
    // Every half hour around the changes of ten years, and a time of each week.
    let ends = footer.changes(around: 1_300_000_000) + footer.changes(around: 1_780_000_000)
    var times = ends.flatMap { change in (-60...60).map { change.at + $0 * 1_800 } }
    times += (0..<1_400).map { 1_270_000_000 + $0 * 604_800 }
    for time in times where time >= 1_262_304_000 {
      #expect(rules.instant(ofLocal: time * 1_000) == short.instant(ofLocal: time * 1_000))
    }
  }

  @Test(arguments: [
    "", "/UTC", "../zoneinfo/UTC", "Europe", "Europe/", "Europe/Atlantis", "tzdata.zi", "a b",
    "Europe/Berlin\0", "leapseconds", String(repeating: "a", count: 65),
  ])
  func `what is no zone is not known`(_ name: String) {
    #expect(ZoneFile.rules(of: name) == nil, "\(name)")
  }
}
