// SPDX-License-Identifier: Apache-2.0
import Records
import TestSupport
import Testing

/// The records that the documents show are valid against docs/schemas.
@Suite struct DocumentExamplesTests {
  private static let pages = [
    "README.md", "docs/reference/records.md", "docs/api.md", "docs/producing.md",
    "docs/migrating.md", "docs/operations.md", "docs/install.md", "docs/kafka.md",
    "docs/scheduling.md", "docs/payloads.md",
  ]

  /// The JSON objects that a page shows: whole lines, joined where one goes on, and in commands.
  private static func objects(_ page: String) -> [JSONValue] {
    // Hex, and base64: a device token, and a channel.
    let text = page.replacing(#/'\$(TOKEN|CHANNEL)'/#, with: "00fc")
      .replacing(#/'\$\w+'|'\$\([^)]*\)'/#, with: "1")
    var found: [JSONValue] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: "{") {
      // A bracket of another language need not close, and hides nothing that comes after it.
      if let end = end(of: rest[start...]),
        let value = try? JSONParser().parse(String(rest[start...end]))
      {
        found.append(value)
        rest = rest[rest.index(after: end)...]
      } else {
        rest = rest[rest.index(after: start)...]
      }
    }
    return found
  }

  /// Where the bracket that begins the text closes.
  private static func end(of text: Substring) -> Substring.Index? {
    var depth = 0
    var isText = false
    var isEscaped = false
    for index in text.indices {
      switch text[index] {
      case _ where isEscaped: isEscaped = false
      case "\\" where isText: isEscaped = true
      case "\"": isText.toggle()
      case "{" where !isText: depth += 1
      case "}" where !isText:
        depth -= 1
        if depth == 0 { return index }
      default: break
      }
    }
    return nil
  }

  /// The schema that a record is of, by the members that only it has.
  private static func schema(_ record: JSONValue) -> String? {
    func has(_ key: String) -> Bool { record[key] != nil }
    if has("campaign"), has("request") { return "campaign" }
    if has("outcome") { return "receipt" }
    if has("payload"), has("app") { return "request" }
    if has("alive_from") { return "invalid-token" }
    if has("token"), has("environment"), !has("state"), !has("status") {
      if has("registered_at") || has("removed_at") { return "registration" }
    }
    return nil
  }

  @Test func `every request, campaign, receipt and registration on the pages is valid`() throws {
    var records: [String: [JSONValue]] = [:]
    for page in Self.pages {
      for object in Self.objects(try Repository.text(page)) {
        if let schema = Self.schema(object) { records[schema, default: []].append(object) }
      }
    }
    for schema in ["request", "campaign", "receipt", "registration", "invalid-token"] {
      let shown = records[schema] ?? []
      #expect(!shown.isEmpty, "no page shows a \(schema)")
      for (record, isValid) in zip(shown, try Documents.verdicts(schema, shown)) {
        #expect(isValid, "\(schema): \(String(decoding: record.text, as: UTF8.self))")
      }
    }
    #expect((records["request"] ?? []).count >= 5)
  }
}
