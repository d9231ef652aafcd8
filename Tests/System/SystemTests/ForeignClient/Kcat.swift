// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// kcat against one cluster.
struct Kcat {
  let kafka: String
  let folder: TemporaryFolder

  /// Produces each line as a record of its own.
  func produce(_ lines: [String], to topic: String = "push.requests") throws {
    let file = folder.file("records")
    try File.write(file, Array((lines.joined(separator: "\n") + "\n").utf8))
    let result = try BuiltProgram.run(
      SystemProgram.path("kcat"), ["-P", "-b", kafka, "-t", topic, "-l", file], in: folder)
    #expect(result.status == 0, "kcat printed: \(result.output)")
  }

  /// Every record of a topic, from its beginning, in kcat's `format`.
  func read(_ topic: String, format: String) throws -> [Substring] {
    let result = try BuiltProgram.run(
      SystemProgram.path("kcat"),
      ["-C", "-q", "-e", "-b", kafka, "-t", topic, "-o", "beginning", "-f", format], in: folder)
    return result.output.split(separator: "\n")
  }

  /// Every receipt so far, whichever order Kafka's partitions make.
  func receipts() throws -> [JSONValue] {
    // A record is many receipts, one per line.
    try read("push.receipts", format: "%s\n").compactMap { try? JSONDocument(String($0)).root }
  }

  /// Waits until there are so many receipts, and returns what is there then.
  func receipts(count: Int, withinMilliseconds limit: UInt64 = 60_000) throws -> [JSONValue] {
    var found: [JSONValue] = []
    _ = try eventually(withinMilliseconds: limit, pauseMilliseconds: 200) {
      found = try receipts()
      return found.count >= count
    }
    return found
  }
}
