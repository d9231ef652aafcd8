// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import TestSupport
import Testing

/// docs/payloads.md through a whole pipeline: its examples are delivered without a warning, its mistakes with theirs.
@Suite struct PayloadPageTests {
  private static func page() throws -> String {
    try Repository.text("docs/payloads.md")
  }

  /// The requests that the page shows.
  private static func examples(_ page: String) throws -> [JSONValue] {
    try page.split(separator: "```json\n").dropFirst().flatMap { block in
      let text = block.split(separator: "\n```")[0]
      // Each begins a line; a line that begins with a blank goes on.
      return try text.replacing("\n ", with: " ").split(separator: "\n").map {
        try JSONDocument(String($0)).root
      }
    }
  }

  @Test
  func `every example is delivered as it is, and every mistake is named in its receipt`() throws {
    let page = try Self.page()
    let examples = try Self.examples(page)
    #expect(examples.count == 8)
    let rows = page.matches(of: #/\| `([a-z-]+)` \| `(\{.*\})` \|/#).map {
      (rule: String($0.1), payload: String($0.2))
    }
    #expect(rows.count == 16 && Set(rows.map(\.rule)).count == 12)

    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator(["--json-check", "strict"])
    for name in PipelineRig.services { try rig.start(name) }
    try rig.awaitServices()
    // The end of the activity comes when its update was sent: one that still waits would be superseded.
    let ends = examples.filter { $0["id"]?.string == "payload-end" }
    #expect(ends.count == 1)
    var requests = examples.filter { $0["id"]?.string != "payload-end" }.map {
      String(decoding: $0.text, as: UTF8.self)
    }
    requests += rows.indices.map { number in
      let token = PipelineRig.token(examples.count + number)
      return
        #"{"id":"row-\#(number)","app":"com.example.app","token":"\#(token)","payload":\#(rows[number].payload)}"#
    }
    requests += ends.map { String(decoding: $0.text, as: UTF8.self) }
    var receipts: [String: JSONValue] = [:]
    for part in [0..<requests.count - 1, requests.count - 1..<requests.count] {
      try rig.produce(rig.names.requests, part) { (PipelineRig.token($0), requests[$0]) }
      _ = try rig.readReceipts(
        { receipt in
          if let id = receipt["id"]?.string { receipts[id] = receipt }
        }, until: { receipts.count >= part.upperBound })
    }
    for example in examples {
      let receipt = receipts[example["id"]?.string ?? ""]
      #expect(receipt?["outcome"]?.string == "delivered", "\(example)")
      #expect(receipt?["warnings"] == nil, "\(example)")
    }
    for (index, row) in rows.enumerated() {
      let receipt = receipts["row-\(index)"]
      #expect(receipt?["outcome"]?.string == "delivered", "\(row.payload)")
      let named = receipt?["warnings"]?.array?.compactMap(\.string) ?? []
      #expect(
        named.count == 1 && named.first?.hasPrefix("\(row.rule):") == true, "\(row): \(named)")
    }
  }
}
