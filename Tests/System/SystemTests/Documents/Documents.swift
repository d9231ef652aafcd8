// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// Files of this repository, and the Python tools that read its schemas.
enum Documents {
  /// What stands on a page below a heading of the second level.
  static func section(_ heading: String, of page: String) throws -> String {
    let parts = try Repository.text(page).split(separator: "\n## \(heading)\n", maxSplits: 1)
    try #require(parts.count == 2, "\(heading)")
    return String(parts[1].split(separator: "\n## ", maxSplits: 1)[0])
  }

  /// Runs a script of this test's Python folder, and returns the JSON object that it printed.
  static func run(
    _ script: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> JSONValue {
    let result = try BuiltProgram.run(
      try SystemProgram.python(),
      ["-B", Repository.path("Tests/System/SystemTests/Python/\(script)")] + arguments,
      in: folder, withinMilliseconds: 120_000)
    try #require(result.status == 0, "\(script) printed: \(result.output.suffix(2_000))")
    let line = try #require(result.output.split(separator: "\n").last { $0.hasPrefix("{") })
    return try JSONDocument(String(line)).root
  }

  /// What a schema of docs/schemas says of each record.
  static func verdicts(_ schema: String, _ records: [JSONValue]) throws -> [Bool] {
    try verdicts(schema, texts: records.map { $0.text })
  }

  static func verdicts(_ schema: String, texts: [[UInt8]]) throws -> [Bool] {
    let folder = TemporaryFolder()
    let file = folder.file("records")
    try File.write(file, Array(texts.joined(separator: [10])))
    let answer = try run(
      "check_records.py",
      ["--schema", Repository.path("docs/schemas/\(schema).json"), "--records", file],
      in: folder)
    let text = try #require(answer["valid"]?.string)
    let verdicts = text.map { $0 == "1" }
    try #require(verdicts.count == texts.count)
    return verdicts
  }
}
