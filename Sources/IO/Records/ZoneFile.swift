// SPDX-License-Identifier: Apache-2.0

internal import Bytes
public import Schedule

/// The files of the time zone database, Debian's packages tzdata and tzdata-legacy.
public enum ZoneFile {
  public static let folder = "/usr/share/zoneinfo"
  private static let longestName = 64

  /// True for what can be a zone's name: letters, digits, `_`, `+`, `-`, and `/` but at the beginning.
  public static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count) && !text.hasPrefix("/")
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
          || "_+-/".utf8.contains(byte)
      }
  }

  /// The rules of a zone; nil for one that is not known.
  public static func rules(of name: String) -> ZoneRules? {
    guard isName(name),
      let file = try? File.read("\(folder)/\(name)", limit: ZoneRules.longestFile)
    else { return nil }
    return ZoneRules(file)
  }
}
