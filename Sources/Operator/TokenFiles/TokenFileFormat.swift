// SPDX-License-Identifier: Apache-2.0

/// The forms of a file of device tokens.
public enum TokenFileFormat: String, CaseIterable, Sendable {
  /// One token in each line.
  case plain
  /// One JSON object in each line, as `martlet tokens list --json` writes it.
  case ndjson

  /// Members of other services' objects, in lower case.
  private static let foreignMembers = [
    "devicetoken", "devicetype", "results", "endpoints", "endpointarn", "channeltype", "apns_token",
    "apns_tokens",
  ]
  /// How dumps of databases begin.
  private static let statements = ["--", "/*", "copy ", "insert ", "set ", "create "]

  /// The most likely format of a file, by its first line that is not empty; nil for an export of another service: CSV,
  /// SQL, or JSON that is no line of ours.
  public init?(firstLine line: some Collection<UInt8>) {
    let text = String(decoding: line.prefix(4_096), as: UTF8.self).lowercased()
    let start = text.drop { $0 == "\u{FEFF}" || $0.isWhitespace }
    if start.hasPrefix("{") {
      if Self.foreignMembers.contains(where: { start.contains("\"\($0)\"") }) { return nil }
      self = .ndjson
    } else if start.hasPrefix("[") || Self.statements.contains(where: { start.hasPrefix($0) }) {
      return nil
    } else {
      // A list may have a comma behind each token; between two things it separates columns.
      if start.split(separator: ",").count(where: { !$0.allSatisfy(\.isWhitespace) }) > 1 {
        return nil
      }
      self = .plain
    }
  }
}
