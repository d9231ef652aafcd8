// SPDX-License-Identifier: Apache-2.0
import Access
import HTTPServer

/// The admission of a request by its header, before its body: the key, and the form of the body.
enum Admission {
  /// The longest `Idempotency-Key`, which forms a request id with an item's number appended.
  static let longestIdempotencyKey = 100

  struct Body: Equatable {
    let form: ItemSplitter.Form
    let isPacked: Bool
    let idempotencyKey: String?
  }

  /// The key in `Authorization: Bearer KEY`.
  static func bearer(_ header: String?) throws(Problem) -> String {
    guard let header else {
      throw .unauthorized("no API key: send the header Authorization: Bearer KEY")
    }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw .unauthorized("Authorization is not of the form Bearer KEY")
    }
    return parts[1].trimmingBlanks
  }

  static func body(
    type: String?, encoding: String?, idempotencyKey: String?
  ) throws(Problem) -> Body {
    guard let form = form(type) else { throw .mediaType(type ?? "") }
    guard let isPacked = isPacked(encoding) else { throw .encoding(encoding ?? "") }
    if let idempotencyKey, !isIdempotencyKey(idempotencyKey) {
      throw .malformed("Idempotency-Key is not 1 to \(longestIdempotencyKey) ASCII characters")
    }
    return Body(form: form, isPacked: isPacked, idempotencyKey: idempotencyKey)
  }

  /// The form of a media type; nil for any other.
  private static func form(_ type: String?) -> ItemSplitter.Form? {
    switch (type ?? "application/json").split(separator: ";").first?.lowercased().trimmingBlanks {
    case "application/json": .document
    case "application/x-ndjson", "application/jsonl", "application/ndjson": .lines
    default: nil
    }
  }

  /// Whether a content encoding is gzip; nil for any other than that and none.
  private static func isPacked(_ encoding: String?) -> Bool? {
    switch encoding?.lowercased() {
    case nil, "", "identity": false
    case "gzip", "x-gzip": true
    default: nil
    }
  }

  /// Bytes other than ASCII have no agreed meaning in a header: different keys could become the same id.
  private static func isIdempotencyKey(_ key: String) -> Bool {
    (1...longestIdempotencyKey).contains(key.utf8.count)
      && key.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// Requires a JSON body without a content encoding.
  static func plainJSON(type: String?, encoding: String?) throws(Problem) {
    guard form(type) == .document else {
      throw .mediaType(type ?? "", supported: "application/json")
    }
    try plain(encoding)
  }

  /// Requires a body without a content encoding.
  static func plain(_ encoding: String?) throws(Problem) {
    guard isPacked(encoding) == false else {
      throw .encoding(encoding ?? "", supported: "the body as it is")
    }
  }
}

extension StringProtocol {
  fileprivate var trimmingBlanks: String {
    String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
