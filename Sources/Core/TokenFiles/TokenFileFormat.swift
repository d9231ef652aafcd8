// SPDX-License-Identifier: Apache-2.0

/// The forms of a file of device tokens.
public enum TokenFileFormat: String, CaseIterable, Sendable {
  /// One token in each line.
  case plain
  /// One JSON object in each line, as `martlet tokens list --json` writes it.
  case ndjson
  /// The CSV export of OneSignal.
  case onesignal
  /// Objects of Parse's `_Installation`: an array, `{"results":[…]}`, or one in each line.
  case parse
  /// A dump of an rpush database: `pg_dump`, or `mysqldump`.
  case rpush

  /// The most likely format of a file, by its first line that is not empty.
  public init(firstLine line: some Collection<UInt8>) {
    let text = String(decoding: line.prefix(4_096), as: UTF8.self).lowercased()
    let start = text.drop { $0 == " " || $0 == "\t" || $0 == "\u{FEFF}" }
    if start.hasPrefix("[") || start.hasPrefix("{") {
      let isInstallation =
        start.hasPrefix("[") || start.contains("\"devicetoken\"")
        || start.contains("\"devicetype\"") || start.contains("\"results\"")
      self = isInstallation ? .parse : .ndjson
    } else if start.hasPrefix("--") || start.hasPrefix("/*") || start.hasPrefix("copy ")
      || start.hasPrefix("insert ") || start.hasPrefix("set ") || start.hasPrefix("create ")
    {
      self = .rpush
    } else if start.contains(","), start.contains("identifier") {
      self = .onesignal
    } else {
      self = .plain
    }
  }
}
