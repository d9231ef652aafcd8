// SPDX-License-Identifier: Apache-2.0
import Access
import HTTPServer

/// The admission of a request by its header, before any of its body: who asks, and in which form.
enum Admission {
  /// The longest `Idempotency-Key`: with an item's number behind it, it is a request id.
  static let longestIdempotencyKey = 100

  /// The form of the body.
  struct Body: Equatable {
    let form: ItemSplitter.Form
    let isPacked: Bool
    let idempotencyKey: String?
  }

  /// The key in `Authorization: Bearer KEY`.
  static func bearer(_ header: String?) -> Result<String, Failure> {
    guard let header else {
      return .failure(
        Failure(.unauthorized("no API key: send the header Authorization: Bearer KEY")))
    }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      return .failure(Failure(.unauthorized("Authorization is not of the form Bearer KEY")))
    }
    return .success(parts[1].trimmingBlanks)
  }

  static func body(
    type: String?, encoding: String?, idempotencyKey: String?
  ) -> Result<Body, Failure> {
    let media = (type ?? "application/json").split(separator: ";").first?.lowercased()
      .trimmingBlanks
    let form: ItemSplitter.Form
    switch media {
    case "application/json": form = .document
    case "application/x-ndjson", "application/jsonl", "application/ndjson": form = .lines
    default: return .failure(Failure(.mediaType(media ?? "")))
    }
    let isPacked: Bool
    switch encoding?.lowercased() {
    case nil, "", "identity": isPacked = false
    case "gzip", "x-gzip": isPacked = true
    default: return .failure(Failure(.encoding(encoding ?? "")))
    }
    if let idempotencyKey, !isIdempotencyKey(idempotencyKey) {
      return .failure(
        Failure(
          .malformed("Idempotency-Key is not 1 to \(longestIdempotencyKey) ASCII characters")))
    }
    return .success(Body(form: form, isPacked: isPacked, idempotencyKey: idempotencyKey))
  }

  /// Other bytes than ASCII have no agreed meaning in a header: keys that differ could become the same id.
  private static func isIdempotencyKey(_ key: String) -> Bool {
    (1...longestIdempotencyKey).contains(key.utf8.count)
      && key.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// Demands a body of JSON as it is, without an encoding.
  static func plainJSON(type: String?, encoding: String?) throws(Failure) {
    let body = try body(type: type, encoding: encoding, idempotencyKey: nil).get()
    guard body.form == .document else { throw Failure(.mediaType(type ?? "")) }
    guard !body.isPacked else { throw Failure(.encoding(encoding ?? "")) }
  }

  struct Failure: Error, Equatable {
    let problem: Problem

    init(_ problem: Problem) { self.problem = problem }
  }
}

extension StringProtocol {
  fileprivate var trimmingBlanks: String {
    String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
