// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// The examples of docs/producing.md in languages that can run here, against `martlet up`.
@Suite(.serialized) struct ProducingExamplesTests {
  /// A code block of the page by what stands in it.
  private func example(
    _ language: String, with text: String, _ addresses: JSONValue
  ) throws -> String {
    let page = try Repository.text("docs/producing.md")
    let blocks = page.matches(of: #/```(\w+)\n((?s).*?)\n```/#)
    let block = try #require(blocks.first { $0.1 == language && $0.2.contains(text) })
    return String(block.2)
      .replacing("127.0.0.1:9092", with: try #require(addresses["kafka"]?.string))
      .replacing("http://127.0.0.1:8080", with: try #require(addresses["api"]?.string))
  }

  private func run(_ program: String, _ code: String, in folder: TemporaryFolder) throws {
    let file = folder.file("example")
    try File.write(file, Array(code.utf8))
    let result = try BuiltProgram.run(
      try SystemProgram.path("bash"), ["-c", "cd '\(folder.path)' && exec \(program) example"],
      in: folder)
    #expect(result.status == 0, "\(program): \(result.output)")
  }

  @Test func `each example that can run sends what it shows`() throws {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start(
      "martlet", ["up", "--dir", folder.file("martlet-up")], in: folder)
    try #require(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let addresses = try JSONDocument(try File.read(folder.file("martlet-up/addresses.json"))).root
    try run("bash -eu", example("sh", with: "kcat-1", addresses), in: folder)
    try run("bash -eu", example("sh", with: "kcat-2", addresses), in: folder)
    try run(SystemProgram.python(), example("python", with: "python-1", addresses), in: folder)
    let wanted: Set = ["kcat-1", "kcat-2", "python-1"]
    let kafka = try #require(addresses["kafka"]?.string)
    var delivered: Set<String> = []
    _ = try eventually(withinMilliseconds: 40_000, pauseMilliseconds: 300) {
      let receipts = try BuiltProgram.run(
        SystemProgram.path("kcat"),
        ["-C", "-q", "-e", "-b", kafka, "-t", "push.receipts", "-f", "%s\n"], in: folder)
      for line in receipts.output.split(separator: "\n") {
        guard let receipt = try? JSONDocument(String(line)).root,
          receipt["outcome"]?.string == "delivered", let id = receipt["id"]?.string
        else { continue }
        delivered.insert(id)
        if id == "kcat-2" { #expect(receipt["data"]?["order"]?.string == "8812") }
      }
      return delivered.isSuperset(of: wanted)
    }
    #expect(delivered == wanted)
    #expect(up.stop() == 0, "\(up.output)")
  }
}
