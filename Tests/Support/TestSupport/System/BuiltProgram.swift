// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
public import Telemetry

/// A program of this build, or a system program, running in its own process.
///
/// It is asked to stop when the last reference is released, and killed if it does not. The folder lives as long as the
/// program.
public final class BuiltProgram {
  public let pid: Int32
  private let folder: TemporaryFolder
  private let outputPath: String
  private var status: Int32?

  /// Starts an executable of this build; its output goes to a file of `folder`.
  public static func start(
    _ name: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    try BuiltProgram(ChildProcess.sibling(name), arguments, in: folder)
  }

  /// Starts a system program.
  public static func start(
    path: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    try BuiltProgram(path, arguments, in: folder)
  }

  /// Runs a system program to its end and returns its output.
  public static func run(
    _ path: String, _ arguments: [String], in folder: TemporaryFolder,
    withinMilliseconds limit: UInt64 = 60_000
  ) throws -> (status: Int32, output: String) {
    let program = try BuiltProgram(path, arguments, in: folder)
    let status = program.wait(withinMilliseconds: limit)
    return (status ?? -1, program.output)
  }

  private init(_ path: String, _ arguments: [String], in folder: TemporaryFolder) throws {
    self.folder = folder
    outputPath = folder.file("output-\(UInt32.random(in: 0...UInt32.max))")
    let descriptor = open(outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    // The caller's own settings must not affect a test.
    let environment = try ChildProcess.inheritedEnvironment().filter {
      !$0.hasPrefix("MARTLET_") || $0.hasPrefix("MARTLET_TEST_")
    }
    pid = try ChildProcess.spawn(path, arguments, environment: environment, output: descriptor)
  }

  deinit {
    guard status == nil else { return }
    kill(pid, SIGTERM)
    if wait(withinMilliseconds: 15_000) == nil {
      kill(pid, SIGKILL)
      _ = wait(withinMilliseconds: 5_000)
    }
  }

  /// The output so far, standard output and error.
  public var output: String { (try? File.text(outputPath)) ?? "" }

  /// Waits until it has printed `text`.
  public func prints(_ text: String, withinMilliseconds limit: UInt64 = 60_000) -> Bool {
    eventually(withinMilliseconds: limit, pauseMilliseconds: 20) { output.contains(text) }
  }

  /// Waits until it has logged `event`.
  public func prints(_ event: some LogTable, withinMilliseconds limit: UInt64 = 60_000) -> Bool {
    prints(event.rawValue, withinMilliseconds: limit)
  }

  /// Waits until it has logged `event`, and returns its first field, `url`; nil if time runs out before.
  public func url(of event: some LogTable) -> String? {
    let start = "\(event.rawValue) url="
    guard prints(start) else { return nil }
    let text = output
    return text.firstRange(of: start).map { range in
      String(text[range.upperBound...].prefix { !$0.isWhitespace })
    }
  }

  /// Waits until it has written its address to this file, and returns the content without the newline; nil if it ends
  /// or time runs out before.
  public func announcement(in path: String) -> String? {
    var text: String?
    _ = eventually(pauseMilliseconds: 10) {
      text = (try? File.read(path))?.split(separator: 10).first.map {
        String(decoding: $0, as: UTF8.self)
      }
      return text != nil || hasEnded
    }
    return text
  }

  /// The port on which it accepts connections, according to the kernel, for programs that choose a free port and do not
  /// report it. nil if it ends or time runs out before.
  public func listeningPort() -> UInt16? {
    var port: UInt16?
    _ = eventually(pauseMilliseconds: 10) {
      port = ListeningSockets.ports(of: pid).first
      return port != nil || hasEnded
    }
    return port
  }

  public func signal(_ number: Int32) { kill(pid, number) }

  private var hasEnded: Bool { wait(withinMilliseconds: 0) != nil }

  /// Its exit status (128 + signal if a signal ended it), or nil if it is still running.
  public func wait(withinMilliseconds limit: UInt64 = 60_000) -> Int32? {
    _ = eventually(withinMilliseconds: limit, pauseMilliseconds: 10) {
      var raw: Int32 = 0
      guard status == nil, waitpid(pid, &raw, WNOHANG) == pid else { return status != nil }
      status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
      return true
    }
    return status
  }

  /// Asks it to stop, and returns its exit status; nil if it is still running.
  public func stop(withinMilliseconds limit: UInt64 = 60_000) -> Int32? {
    if !hasEnded { signal(SIGTERM) }
    return wait(withinMilliseconds: limit)
  }
}
