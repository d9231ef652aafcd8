// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTPClient
import Kafka
import Records
import TestSupport
import Testing

/// What a request has for the way and for its receipt, through a whole pipeline.
@Suite struct CarriedFieldTests {
  private func request(_ number: Int, _ more: String = "") -> String {
    #"{"id":"r\#(number)","app":"com.example.app","token":"\#(PipelineRig.token(number))","#
      + #""payload":{"aps":{"alert":"x"}},"collapse_id":"c\#(number)""# + more + "}"
  }

  private let headersAndData =
    #","headers":{"apns-new-thing":"a=b","apns-other":"x y"},"data":{ "order" : "8812", "k\u00e9":"\"" }"#

  private func start(_ rig: PipelineRig) throws {
    for name in PipelineRig.services { try rig.start(name) }
    try rig.awaitServices()
  }

  /// The receipts by the ids of their requests, once those of `ids` are there.
  private func receipts(_ rig: PipelineRig, of ids: [String]) throws -> [String: JSONValue] {
    var receipts: [String: JSONValue] = [:]
    let isRead = try rig.readReceipts(
      { receipt in
        if let id = receipt["id"]?.string { receipts[id] = receipt }
      }, until: { ids.allSatisfy { receipts[$0] != nil } })
    #expect(isRead, "only \(receipts.keys.sorted())")
    return receipts
  }

  /// The header fields of the requests that the gateway has seen, by collapse id.
  private func headers(_ rig: PipelineRig) throws -> [String: [String: String]] {
    let seen = try HTTPClient().get("http://\(rig.gatewayAdmin)/requests").text
    var all: [String: [String: String]] = [:]
    for line in seen.split(separator: "\n") {
      let fields = try JSONDocument(String(line)).root["headers"]?.array ?? []
      let pairs = fields.compactMap { field -> (String, String)? in
        guard let name = field.array?[0].string, let value = field.array?[1].string else {
          return nil
        }
        return (name, value)
      }
      let named = Dictionary(pairs, uniquingKeysWith: { "\($0), \($1)" })
      all[named["apns-collapse-id"] ?? ""] = named
    }
    return all
  }

  @Test func `headers arrive at the gateway and data in the receipt`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try start(rig)
    try rig.produce(rig.names.requests, 0..<1) {
      (PipelineRig.token($0), request($0, headersAndData))
    }
    try rig.produce(rig.names.requests, 1..<2) { (PipelineRig.token($0), request($0)) }
    let file = rig.folder.file("requests.jsonl")
    try File.write(
      file,
      Array("\(request(2, headersAndData))\n\(request(3, #","headers":{"apns-id":"x"}"#))\n".utf8))
    let imported = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["import", file, "--kafka", rig.kafka], in: rig.folder)
    #expect(imported.output.contains("headers.apns-id: is set by Martlet itself"))
    let receipts = try receipts(rig, of: ["r0", "r1", "r2"])
    let headers = try headers(rig)
    for number in 0..<3 {
      let receipt = receipts["r\(number)"]
      #expect(receipt?["outcome"]?.string == "delivered")
      let seen = headers["c\(number)"]
      #expect(seen?["apns-topic"] == "com.example.app")
      #expect(seen?["apns-new-thing"] == (number == 1 ? nil : "a=b"))
      #expect(seen?["apns-other"] == (number == 1 ? nil : "x y"))
      let data: JSONValue = ["order": "8812", "k\u{e9}": "\""]
      #expect(receipt?["data"] == (number == 1 ? Optional<JSONValue>.none : data))
    }
  }
}
