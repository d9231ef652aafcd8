// SPDX-License-Identifier: Apache-2.0
import Records
import TestSupport

/// A script of this test's Python folder, run with the packages that scripts/setup installed.
enum PythonScript {
  /// Starts it; it runs until it is stopped.
  static func start(
    _ name: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    let script = Repository.path("Tests/System/SystemTests/Python/\(name)")
    return try BuiltProgram.start(
      path: SystemProgram.python(), ["-B", script] + arguments, in: folder)
  }

  /// Runs it to its end, and returns its exit status, the JSON objects that it printed and all it printed.
  static func run(
    _ name: String, _ arguments: [String], in folder: TemporaryFolder,
    withinMilliseconds limit: UInt64 = 120_000
  ) throws -> (status: Int32, objects: [JSONValue], output: String) {
    let script = Repository.path("Tests/System/SystemTests/Python/\(name)")
    let result = try BuiltProgram.run(
      SystemProgram.python(), ["-B", script] + arguments, in: folder, withinMilliseconds: limit)
    let objects = result.output.split(separator: "\n").compactMap {
      $0.hasPrefix("{") ? try? JSONDocument(String($0)).root : nil
    }
    return (result.status, objects, result.output)
  }
}
