// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract

/// The rule for the years that a file of the time zone database does not list.
@Suite struct ZoneFooterTests {
  private static func rules(_ text: String) -> ZoneRules? {
    ZoneFooterReader.read(Array(text.utf8)[...]).map {
      ZoneRules(firstOffset: 0, changes: [], footer: $0)
    }
  }

  private static let footers: [(String, Double, Double)] = [
    // 2026-07-01T12:00:00 and 2026-12-01T12:00:00, in hours before UTC.
    ("CET-1CEST,M3.5.0,M10.5.0/3", 2, 1), ("EST5EDT,M3.2.0,M11.1.0", -4, -5),
    ("<+0545>-5:45", 5.75, 5.75), ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 10.5, 11),
    ("IST-1GMT0,M10.5.0,M3.5.0/1", 1, 0), ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -1, -2),
    ("XXX3EDT4,0/0,J365/23", -4, -4), ("AAA0BBB,J60,J300", 1, 0), ("AAA0BBB,60/0:00:00,300", 1, 0),
    ("AAA+0BBB+1:30:30,M2.1.0/-167,M11.5.6/167", -5_430.0 / 3_600, -5_430.0 / 3_600),
  ]

  @Test(arguments: footers)
  func `years that a file does not list go by its footer`(
    _ text: String, _ summer: Double, _ winter: Double
  ) throws {
    let rules = try #require(Self.rules(text))
    func offset(_ local: Int64) -> Double {
      Double(local - rules.instant(ofLocal: local)) / 3_600_000
    }
    #expect(offset(1_782_907_200_000) == summer, "\(text)")
    #expect(offset(1_796_126_400_000) == winter, "\(text)")
  }

  @Test func `days of a footer are counted as POSIX says`() throws {
    /// The first local midnight after which clocks are ahead.
    func start(_ day: String, _ year: Int64) throws -> Int64 {
      let rules = try #require(Self.rules("AAA0BBB,\(day)/0,J365/23"))
      let first: Int64 = year == 2024 ? 19_723 : 20_089
      return (0..<366 as Range<Int64>).first { day in
        let noon = ((first + day) * 24 + 12) * 3_600_000
        return rules.instant(ofLocal: noon) != noon
      } ?? -1
    }
    // 29 February is the 60th day of 2024, and is not counted by J.
    #expect(try start("J59", 2024) == 58 && start("J60", 2024) == 60)
    #expect(try start("J60", 2025) == 59 && start("59", 2024) == 59 && start("59", 2025) == 59)
    // Sunday 3 March 2024, the last Friday of February 2024, and of January 2025.
    #expect(try start("M3.1.0", 2024) == 62 && start("M2.5.5", 2024) == 53)
    #expect(try start("M1.5.5", 2025) == 30 && start("M2.4.5", 2024) == 53)
  }

  @Test(arguments: [
    "X", "AB1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/168",
    "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
    "CET-1CEST,J0,J5", "CET-1CEST,366,5", "<A>1", "<ABC1", "CET-1x", "CET-1:60", "CET-1:00:60",
    "CET-1CEST,M3.5.0,M10.5.0,", "CET-0001", "CET--1", "CET-24:59:59CEST-25,0,1",
  ])
  func `a footer with a mistake is refused`(_ text: String) {
    #expect(Self.rules(text) == nil, "\(text)")
  }
}
