// SPDX-License-Identifier: Apache-2.0

public enum TokenFileFormat: String, CaseIterable, Sendable {
  /// One token per line.
  case plain
  /// One JSON object per line, as `martlet tokens list --json` writes it.
  case ndjson

  /// Members of other services' objects, in lower case.
  private static let foreignMembers = [
    "devicetoken", "devicetype", "results", "endpoints", "endpointarn", "channeltype", "apns_token",
    "apns_tokens",
  ]
  /// The first words of database dumps.
  private static let statements = ["--", "/*", "copy ", "insert ", "set ", "create "]

  /// Detects a file's format from its first non-empty line; nil for an export of another service: CSV, SQL, or JSON in
  /// another format.
  public init?(firstLine line: some Collection<UInt8>) {
    let text = String(decoding: line.prefix(4_096), as: UTF8.self).lowercased()
    let start = text.drop { $0 == "\u{FEFF}" || $0.isWhitespace }
    if start.hasPrefix("{") {
      if Self.foreignMembers.contains(where: { start.contains("\"\($0)\"") }) { return nil }
      self = .ndjson
    } else if start.hasPrefix("[") || Self.statements.contains(where: { start.hasPrefix($0) }) {
      return nil
    } else {
      // A list may have a comma after each token; between two values a comma separates columns.
      if start.split(separator: ",").count(where: { !$0.allSatisfy(\.isWhitespace) }) > 1 {
        return nil
      }
      self = .plain
    }
  }
}
