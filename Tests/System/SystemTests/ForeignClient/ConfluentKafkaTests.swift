// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

@Suite(.serialized) struct ConfluentKafkaTests {
  private static let good = 500

  /// Good requests, and two bad ones in their middle.
  private func requests() -> [String] {
    var lines = (0..<Self.good).map { number in
      let token = String(repeating: "0", count: 60) + String(10_000 + number).suffix(4)
      return #"{"id":"python-\#(number)","app":"com.example.app","token":"\#(token)","#
        + #""payload":{"aps":{"alert":"Grüße aus Python"}}}"#
    }
    lines.insert(
      #"{"id":"python-bad","app":"com.example.app","token":"ab","payload":{},"colour":"red"}"#,
      at: 100)
    lines.insert("this is no JSON", at: 200)
    return lines
  }

  @Test
  func `every good request ends delivered, every bad one as a dead letter that names the field`()
    throws
  {
    let folder = TemporaryFolder()
    let pipeline = try RunningPipeline(in: folder)
    defer { pipeline.stop() }
    let file = folder.file("requests")
    try File.write(file, Array((requests().joined(separator: "\n") + "\n").utf8))
    // A request whose id could not be read has no receipt, only a dead letter.
    let result = try PythonScript.run(
      "requests_and_receipts.py",
      [
        "--kafka", pipeline.kafka, "--requests", file, "--receipts", "\(Self.good + 1)",
        "--dead-letters", "2",
      ], in: folder)
    #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")

    let receipts = result.objects.compactMap { $0["receipt"] }
    let delivered = receipts.filter {
      $0["outcome"]?.string == "delivered" && $0["status"]?.int == 200
    }
    #expect(
      Set(delivered.compactMap { $0["id"]?.string }) == Set((0..<Self.good).map { "python-\($0)" }))
    #expect(delivered.count == Self.good)
    let others = receipts.filter { $0["outcome"]?.string != "delivered" }
    #expect(others.map { $0["id"]?.string } == ["python-bad"])
    #expect(others.first?["outcome"]?.string == "dead_lettered")

    let letters = result.objects.compactMap { $0["dead_letter"] }
    #expect(letters.count == 2)
    try expectLetter("colour", "colour", letters)
    try expectLetter("this is no JSON", "request", letters)
  }

  /// There is a letter with `text` in it whose headers name `field`.
  private func expectLetter(_ text: String, _ field: String, _ letters: [JSONValue]) throws {
    let letter = try #require(letters.first { $0["value"]?.string?.contains(text) == true })
    let headers = letter["headers"]
    #expect(headers?["martlet-reason"]?.string == "invalid_request")
    #expect(headers?["martlet-detail"]?.string?.hasPrefix(field) == true, "\(letter)")
    #expect(headers?["martlet-stage"]?.string == "ingest")
  }
}
