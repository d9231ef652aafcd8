// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import TestSupport

/// A program of this build, or one of the system, running as a process of its own.
final class BuiltProgram {
  let pid: Int32
  private let outputPath: String
  private var status: Int32?

  /// Starts an executable of this build; its outputs go to a file of `folder`.
  static func start(
    _ name: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    try BuiltProgram(ChildProcess.sibling(name), arguments, in: folder)
  }

  /// Runs a program of the system to its end and returns what it printed.
  static func run(
    _ path: String, _ arguments: [String], in folder: TemporaryFolder,
    withinMilliseconds limit: UInt64 = 20_000
  ) throws -> (status: Int32, output: String) {
    let program = try BuiltProgram(path, arguments, in: folder)
    let status = program.wait(withinMilliseconds: limit)
    return (status ?? -1, program.output)
  }

  private init(_ path: String, _ arguments: [String], in folder: TemporaryFolder) throws {
    outputPath = folder.file("output-\(UInt32.random(in: 0...UInt32.max))")
    let descriptor = open(outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    // The caller's own settings are no part of a test.
    let environment = try ChildProcess.inheritedEnvironment().filter {
      !$0.hasPrefix("MARTLET_") || $0.hasPrefix("MARTLET_TEST_")
    }
    pid = try ChildProcess.spawn(
      path, arguments, environment: environment, output: descriptor)
  }

  deinit {
    guard status == nil else { return }
    kill(pid, SIGTERM)
    if wait(withinMilliseconds: 15_000) == nil {
      kill(pid, SIGKILL)
      _ = wait(withinMilliseconds: 5_000)
    }
  }

  /// Everything it has printed so far, on either output.
  var output: String {
    (try? File.read(outputPath)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Waits until it has printed `text`.
  func prints(_ text: String, withinMilliseconds limit: UInt64) -> Bool {
    eventually(withinMilliseconds: limit, pauseMilliseconds: 20) { output.contains(text) }
  }

  func signal(_ number: Int32) { kill(pid, number) }

  /// Its exit status (128 + signal if one ended it), or nil if it still runs.
  func wait(withinMilliseconds limit: UInt64) -> Int32? {
    _ = eventually(withinMilliseconds: limit, pauseMilliseconds: 10) {
      var raw: Int32 = 0
      guard status == nil, waitpid(pid, &raw, WNOHANG) == pid else { return status != nil }
      status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
      return true
    }
    return status
  }
}
