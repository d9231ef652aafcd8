// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

/// A client that nobody here wrote produces the README's example and reads its receipt.
@Suite("kcat", .serialized)
struct KcatTests {
  private static let kcat = "/usr/bin/kcat"

  /// The request in the README's first kcat command.
  private func readmeExample() throws -> String {
    let here = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let readme = String(decoding: try File.read("/\(here)/README.md"), as: UTF8.self)
    let command = readme.split(separator: "\n").first {
      $0.hasPrefix("echo '") && $0.contains("kcat -P")
    }
    let line = try #require(command, "the README has no kcat command")
    return String(line.dropFirst("echo '".count).prefix { $0 != "'" })
  }

  private func address(_ program: BuiltProgram) throws -> String {
    let start = try #require(program.output.range(of: "Kafka at "))
    return String(program.output[start...].prefix { !$0.isWhitespace && $0 != "," })
  }

  @Test("the README's line leads to a delivered receipt in less than a second")
  func readmeLine() throws {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start("martlet", ["up", "--dir", folder.file("up")], in: folder)
    #expect(up.prints("Ctrl-C ends it.", withinMilliseconds: 60_000), "up printed: \(up.output)")
    let kafka = try address(up)
    let example = try readmeExample()
    // The first one opens connections; the pipeline is idle when the second one comes.
    try produce(example.replacing("order-8812", with: "order-warm-up"), kafka, folder)
    _ = try receipt(of: "order-warm-up", kafka, folder)
    usleep(500_000)
    try produce(example, kafka, folder)
    let answered = try receipt(of: "order-8812", kafka, folder)
    #expect(answered.receipt["outcome"]?.string == "delivered")
    let asked = try requestTime("order-8812", kafka, folder)
    #expect(answered.time - asked < 1_000, "took \(answered.time - asked) ms")
    up.signal(SIGINT)
    #expect(up.wait(withinMilliseconds: 20_000) == 0, "up printed: \(up.output)")
  }

  private func produce(_ line: String, _ kafka: String, _ folder: TemporaryFolder) throws {
    let file = folder.file("request")
    try File.write(file, Array(line.utf8))
    let result = try BuiltProgram.run(
      Self.kcat, ["-P", "-b", kafka, "-t", "push.requests", file], in: folder)
    #expect(result.status == 0, "kcat printed: \(result.output)")
  }

  /// Every record of a topic with its timestamp in front.
  private func read(_ topic: String, _ kafka: String, _ folder: TemporaryFolder) throws
    -> [Substring]
  {
    let result = try BuiltProgram.run(
      Self.kcat,
      ["-C", "-q", "-e", "-b", kafka, "-t", topic, "-o", "beginning", "-f", "%T %s\n"], in: folder)
    return result.output.split(separator: "\n")
  }

  private func receipt(
    of id: String, _ kafka: String, _ folder: TemporaryFolder
  ) throws -> (receipt: JSONValue, time: Int64) {
    var found: (JSONValue, Int64)?
    _ = try eventually(withinMilliseconds: 40_000, pauseMilliseconds: 100) {
      var time: Int64 = 0
      for line in try read("push.receipts", kafka, folder) {
        var text = line
        if let space = line.firstIndex(of: " "), let stamp = Int64(line[..<space]) {
          time = stamp
          text = line[line.index(after: space)...]
        }
        guard let receipt = try? JSONDocument(String(text)).root else { continue }
        if receipt["id"]?.string == id { found = (receipt, time) }
      }
      return found != nil
    }
    return try #require(found, "there is no receipt of \(id)")
  }

  private func requestTime(
    _ id: String, _ kafka: String, _ folder: TemporaryFolder
  ) throws -> Int64 {
    let line = try #require(
      try read("push.requests", kafka, folder).first { $0.contains("\"\(id)\"") })
    return try #require(Int64(line.prefix { $0 != " " }))
  }
}

extension String {
  /// The place right behind the first occurrence of `text`.
  fileprivate func range(of text: String) -> Index? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
