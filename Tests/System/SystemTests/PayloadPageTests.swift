// SPDX-License-Identifier: Apache-2.0
import Bytes
import Contract
import JSON
import SystemTestSupport
import TestSupport
import Testing

/// docs/payloads.md through a whole pipeline: its examples are delivered without a warning, its mistakes with theirs.
@Suite struct PayloadPageTests {
  private static func page() throws -> String {
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return String(decoding: try File.read("/\(root)/docs/payloads.md"), as: UTF8.self)
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

  @Test func `every example is delivered as it is, and every mistake is named in its receipt`()
    throws
  {
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
    for name in PipelineRig.services {
      try #require(rig.isUp(name), "\(name) printed: \(rig[name].output.suffix(1_500))")
    }
    try rig.produce(rig.names.requests, 0..<(examples.count + rows.count)) { index in
      let token = PipelineRig.token(index)
      guard index >= examples.count else {
        // In one partition: an update that comes behind the end of its activity is superseded.
        return ("page", String(decoding: examples[index].text, as: UTF8.self))
      }
      let payload = rows[index - examples.count].payload
      let id = "row-\(index - examples.count)"
      return (
        token,
        #"{"id":"\#(id)","app":"com.example.app","token":"\#(token)","payload":\#(payload)}"#
      )
    }
    var receipts: [String: JSONValue] = [:]
    _ = try rig.read(
      rig.names.receipts,
      { record in
        for line in (record.value ?? "").split(separator: "\n") {
          let receipt = try JSONDocument(String(line)).root
          if let id = receipt["id"]?.string { receipts[id] = receipt }
        }
      }, until: { receipts.count >= examples.count + rows.count })
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
