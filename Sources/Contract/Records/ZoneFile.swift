// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import EventLoop
internal import Glibc

/// The files of the time zone database, Debian's packages tzdata and tzdata-legacy.
public enum ZoneFile {
  public static let folder = "/usr/share/zoneinfo"
  private static let longestName = 64

  /// True for a possible zone name: letters, digits, `_`, `+`, `-`, and `/` except at the start.
  public static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count) && !text.hasPrefix("/")
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
          || "_+-/".utf8.contains(byte)
      }
  }

  /// The rules of a zone; nil if unknown.
  public static func rules(of name: String) -> ZoneRules? { rules(of: name, in: folder) }

  private static func rules(of name: String, in folder: String) -> ZoneRules? {
    guard isName(name), let file = try? File.read("\(folder)/\(name)", limit: ZoneRules.longestFile)
    else { return nil }
    return ZoneRules(file)
  }

  /// Files with the edition: tzdata.zi on its first line, the others on their only line.
  private static let editions = ["tzdata.zi", "+VERSION", "VERSION"]
  private static let longestEdition = 1 << 20

  /// The edition of the database; nil if there is none.
  public static func edition(in folder: String = folder) -> ZoneEdition? {
    guard rules(of: "UTC", in: folder) != nil else { return nil }
    var firstLine: String?
    var madeAt = made("\(folder)/UTC")
    for name in editions {
      guard let text = try? File.read("\(folder)/\(name)", limit: longestEdition) else { continue }
      firstLine = String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)
      madeAt = made("\(folder)/\(name)")
      break
    }
    return ZoneEdition(firstLine: firstLine, madeAt: madeAt) { rules(of: $0, in: folder) }
  }

  private static func made(_ path: String) -> Int64? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return Int64(status.st_mtim.tv_sec) * 1_000
  }
}
