// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import Contract

/// Local times by files of the time zone database that are made here; `ZoneFileTests` reads those of the system.
@Suite struct ZoneRulesTests {
  private static let hour: Int64 = 3_600

  private static func number(_ number: Int64, bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// A file with these offsets, changes to them, and this footer.
  private static func file(
    _ offsets: [Int64], _ changes: [(at: Int64, type: UInt8)] = [], _ footer: String = "",
    version: Character = "2", leapSeconds: Int = 0
  ) -> [UInt8] {
    func block(_ size: Int, isFirst: Bool) -> [UInt8] {
      let counts = [1, 1, leapSeconds, isFirst ? 1 : changes.count, offsets.count, 4]
      let head = Array("TZif\(version)".utf8) + [UInt8](repeating: 0, count: 15)
      let times = isFirst ? [0] : changes.map(\.at)
      let types = isFirst ? [0] : changes.map(\.type)
      return head + counts.flatMap { number(Int64($0), bytes: 4) }
        + times.flatMap { number($0, bytes: size) } + types
        + offsets.flatMap { number($0, bytes: 4) + [0, 0] } + Array("LMT\0".utf8)
        + [UInt8](repeating: 0, count: leapSeconds * (size + 4) + 2)
    }
    return block(4, isFirst: true) + block(8, isFirst: false) + Array("\n\(footer)\n".utf8)
  }

  @Test func `a time that is skipped goes by the offset before, one that comes twice is the first`()
    throws
  {
    let hour = Self.hour
    // Ahead by one hour from 100 h on, and back at 200 h.
    let rules = try #require(ZoneRules(Self.file([0, hour], [(100 * hour, 1), (200 * hour, 0)])))
    func instant(_ seconds: Int64) -> Int64 { rules.instant(ofLocal: seconds * 1_000) / 1_000 }
    #expect(instant(0) == 0 && instant(100 * hour - 1) == 100 * hour - 1)
    #expect(instant(100 * hour) == 100 * hour && instant(101 * hour - 1) == 101 * hour - 1)
    #expect(instant(101 * hour) == 100 * hour && instant(150 * hour) == 149 * hour)
    #expect(instant(200 * hour) == 199 * hour && instant(201 * hour - 1) == 200 * hour - 1)
    #expect(instant(201 * hour) == 201 * hour && instant(9_000 * hour) == 9_000 * hour)
    #expect(rules.instant(ofLocal: 150 * hour * 1_000 + 7) == 149 * hour * 1_000 + 7)
    #expect(rules.instant(ofLocal: -1) == -1)
  }

  @Test func `a date line that is crossed skips a day, or has it twice`() throws {
    let hour = Self.hour
    let west = try #require(ZoneRules(Self.file([-10 * hour, 14 * hour], [(1_000 * hour, 1)])))
    #expect(west.instant(ofLocal: 989 * hour * 1_000) == 999 * hour * 1_000)
    #expect(west.instant(ofLocal: 1_000 * hour * 1_000) == 1_010 * hour * 1_000)
    #expect(west.instant(ofLocal: 1_014 * hour * 1_000) == 1_000 * hour * 1_000)
    let east = try #require(ZoneRules(Self.file([14 * hour, -10 * hour], [(1_000 * hour, 1)])))
    #expect(east.instant(ofLocal: 1_013 * hour * 1_000) == 999 * hour * 1_000)
    #expect(east.instant(ofLocal: 1_014 * hour * 1_000) == 1_024 * hour * 1_000)
  }

  @Test func `a file with a mistake is refused`() {
    let good = Self.file([0, 3_600], [(5, 1), (6, 0)], "UTC0")
    #expect(ZoneRules(good) != nil)
    for count in 0..<good.count { #expect(ZoneRules(Array(good.prefix(count))) == nil) }
    for bad in [
      Self.file([0], version: "1"), Self.file([]), Self.file([0], [(5, 1)]),
      Self.file([0], [(5, 0), (5, 0)]), Self.file([0], [(5, 0), (4, 0)]),
      Self.file([93_600]), Self.file([-90_000]), Self.file([0], [(.min, 0)]),
      Self.file([0], [(.max, 0)]), Self.file([0], leapSeconds: 1), Array(good.dropFirst()),
      good + [UInt8](repeating: 0, count: ZoneRules.longestFile),
    ] {
      #expect(ZoneRules(bad) == nil)
    }
  }

  @Test func `damaged files are refused, or give times within a day or so`() {
    let good = Self.file(
      [0, 3_600, -3_600], [(5, 1), (100_000, 0), (900_000_000, 2)], "CET-1CEST,M3.5.0,M10.5.0/3")
    var (random, read) = (SeededGenerator(seed: 7), 0)
    for _ in 0..<5_000 {
      var file = good
      for _ in 0...random.below(3) { file[random.below(file.count)] = UInt8(random.below(256)) }
      guard let rules = ZoneRules(file) else { continue }
      read += 1
      for local in [0, 1_795_000_000_000, 253_402_300_799_999, 900_000_000_000] as [Int64] {
        #expect(abs(rules.instant(ofLocal: local) - local) <= 93_600_000)
      }
    }
    #expect(read > 500)
  }

  @Test func `an audience is addressed in the order of its zones' instants`() throws {
    let offsets: [String: Int64] = ["UTC": 0, "E": 3_600, "F": 3_600, "W": -3_600, "Z": 0]
    func rules(_ name: String) -> ZoneRules? {
      offsets[name].flatMap { ZoneRules(Self.file([$0])) }
    }
    let local = CampaignPlan.LocalTime(time: 36_000_000, zone: "UTC")
    let waves = try #require(local.waves(["W", "E", "Z", "nowhere", "F", "UTC"], rules: rules))
    #expect(waves.map(\.startAt) == [32_400_000, 36_000_000, 39_600_000])
    #expect(waves[0].zones == .these(["E", "F"]) && waves[2].zones == .these(["W"]))
    guard case .allBut(let others) = waves[1].zones else { return #expect(Bool(false)) }
    #expect(others.sorted() == ["E", "F", "W"])
    #expect(local.waves([], rules: rules) == [.init(startAt: 36_000_000, zones: .allBut([]))])
    #expect(CampaignPlan.LocalTime(time: 0, zone: "nowhere").waves([], rules: rules) == nil)
  }
}
