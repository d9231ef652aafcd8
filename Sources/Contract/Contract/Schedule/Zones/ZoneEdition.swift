// SPDX-License-Identifier: Apache-2.0

/// The edition of the time zone database in use. Governments change the rules of their zones several times a year, and
/// with an old edition times there stay wrong by an hour.
public struct ZoneEdition: Sendable, Equatable {
  /// The version, such as `2026b`; nil if unknown.
  public let version: String?
  /// When its files were created, by their own account, in milliseconds since the epoch; nil if unknown.
  public let madeAt: Int64?
  /// Zones whose rules have changed and that still have old ones here.
  public let outdated: [String]

  /// The age from which an edition is reported as old: 365 days.
  public static let longest: Int64 = 365 * 86_400_000

  /// - Parameters:
  ///   - firstLine: the first line of `tzdata.zi`, or the content of a file that has only the version.
  ///   - madeAt: milliseconds since the epoch.
  ///   - rules: returns nil for an unknown zone.
  public init(firstLine: String?, madeAt: Int64?, rules: (String) -> ZoneRules?) {
    version = firstLine.flatMap(Self.version)
    self.madeAt = madeAt
    outdated = Self.changes.compactMap { change in
      guard let rules = rules(change.zone), rules.offset(at: change.at) != change.offset else {
        return nil
      }
      return change.zone
    }
  }

  /// The least time since it was created, in milliseconds: copying may have made its files look newer, but it is no
  /// newer than the end of the year in its version. Nil if nothing is known.
  public func age(at now: Int64) -> Int64? {
    let year = version.flatMap { Int64($0.prefix(4)) }.map { Self.end(of: $0) }
    guard let made = [madeAt, year].compactMap({ $0 }).min() else { return nil }
    return max(0, now - made)
  }

  /// True if it should be renewed.
  public func isOld(at now: Int64) -> Bool { !outdated.isEmpty || age(at: now) ?? 0 > Self.longest }

  /// The edition's name for people: `tzdata 2026b`.
  public var name: String { version.map { "tzdata \($0)" } ?? "tzdata of an unknown version" }

  // MARK: What is known

  /// Recent rule changes: the offset from UTC that a zone has had since then at a time (seconds since the epoch), in
  /// seconds.
  private static let changes: [(zone: String, at: Int64, offset: Int64)] = [
    ("America/Vancouver", december2026, -7 * 3_600), ("America/Edmonton", december2026, -6 * 3_600),
    ("Africa/Casablanca", december2026, 0), ("America/Inuvik", december2026, -6 * 3_600),
    ("America/Winnipeg", december2026, -5 * 3_600), ("America/Havana", december2026, -4 * 3_600),
  ]
  /// 2026-12-01T12:00:00Z
  private static let december2026: Int64 = 1_796_126_400

  /// The version in `# version 2026b`, or in `2026b` without more.
  private static func version(_ line: String) -> String? {
    let word = line.split { $0 == " " || $0 == "\n" || $0 == "\r" }.last.map(String.init) ?? ""
    let bytes = Array(word.utf8)
    let isOne =
      (5...16).contains(bytes.count) && bytes.prefix(4).allSatisfy { (0x30...0x39).contains($0) }
      && bytes.allSatisfy { (0x21...0x7E).contains($0) }
    return isOne ? word : nil
  }

  /// The end of a year, in milliseconds since the epoch, to within a day.
  private static func end(of year: Int64) -> Int64 { (year + 1 - 1970) * 31_556_952_000 }
}
