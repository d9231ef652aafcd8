// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract

/// Which edition of the time zone database is read, and whether it is old.
@Suite struct ZoneEditionTests {
  private static let day: Int64 = 86_400_000
  /// 2026-11-28T00:00:00Z
  private static let now: Int64 = 1_795_824_000_000

  private static func fixed(_ hours: Int64) -> ZoneRules {
    ZoneRules(firstOffset: hours * 3_600, changes: [], footer: nil)
  }

  /// As the world is since the end of 2026.
  private static let today: [String: Int64] = [
    "America/Vancouver": -7, "America/Edmonton": -6, "Africa/Casablanca": 0, "America/Inuvik": -6,
    "America/Winnipeg": -5, "America/Havana": -4,
  ]

  private static func edition(
    _ line: String?, days: Int64?, _ zones: [String: Int64] = today
  ) -> ZoneEdition {
    ZoneEdition(firstLine: line, madeAt: days.map { now - $0 * day }) { zones[$0].map(fixed) }
  }

  @Test(
    arguments: [
      ("# version 2025b", "2025b"), ("2026f\n", "2026f"), ("2026f", "2026f"),
      ("# version 2026f-dirty", "2026f-dirty"), ("", nil), ("# version", nil), ("# ddeps", nil),
      ("# version 20\u{7}6b", nil), ("12345678901234567", nil),
    ] as [(String, String?)])
  func `the version is read of a file's first line`(_ line: String, _ version: String?) {
    #expect(Self.edition(line, days: 1).version == version)
    #expect(Self.edition(nil, days: 1).name == "tzdata of an unknown version")
  }

  @Test(
    arguments: [
      // A copy is no newer than the year of its version; 332 days are over of 2026.
      ("# version 2026f", 30, 30, false), ("# version 2025b", 461, 461, true),
      ("# version 2025b", 3, 331, false), ("# version 2024b", 3, 697, true),
      ("# version 2026b", 370, 370, true),
    ] as [(String, Int64, Int64, Bool)])
  func `it is old after a year, whatever a copy of its files says`(
    _ line: String, _ days: Int64, _ age: Int64, _ isOld: Bool
  ) throws {
    let edition = Self.edition(line, days: days)
    let found = try #require(edition.age(at: Self.now)) / Self.day
    #expect(abs(found - age) <= 1, "\(found)")
    #expect(edition.isOld(at: Self.now) == isOld)
  }

  @Test func `one that says nothing of itself is judged by rules that have changed`() {
    let new = Self.edition(nil, days: nil)
    #expect(new.age(at: Self.now) == nil && !new.isOld(at: Self.now) && new.outdated.isEmpty)
    var zones = Self.today
    zones["America/Vancouver"] = -8
    zones["Africa/Casablanca"] = 1
    zones["America/Havana"] = nil
    let old = Self.edition("# version 2026f", days: 1, zones)
    #expect(old.outdated == ["America/Vancouver", "Africa/Casablanca"])
    #expect(old.isOld(at: Self.now))
  }
}
