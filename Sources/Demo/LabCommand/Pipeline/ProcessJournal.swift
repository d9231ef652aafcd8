// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit
import Telemetry

/// Follows what the processes of a pipeline write to their log files: which of them are ready, and what went
/// wrong. Owned by one thread.
final class ProcessJournal {
  private struct Log {
    let process: String
    let path: String
    /// The offset at which the next look begins.
    var offset = 0
    /// The bytes of a line that was not complete yet.
    var rest: [UInt8] = []
  }

  /// The most that one look takes of one file, in bytes; the next one takes the rest.
  private static let pieceSize = 1 << 20

  private static let statusLine = "\(StatusServer.message) url="

  private var logs: [Log] = []
  private var piece = [UInt8](repeating: 0, count: pieceSize)
  private var errors: [(process: String, line: String)] = []
  /// Processes that have reported that they are ready.
  private(set) var ready: Set<String> = []
  /// The addresses of the processes' status pages, by process: `http://127.0.0.1:43210`.
  private(set) var statusPages: [String: String] = [:]
  /// True if a process said that records are gone that somebody still had to read.
  private(set) var hasLoss = false

  /// Follows a process's log from now on; the file may be made later.
  func follow(_ process: String, _ path: String) {
    guard !logs.contains(where: { $0.process == process }) else { return }
    logs.append(Log(process: process, path: path))
  }

  /// Reads what was written since the last look.
  func look() {
    for index in logs.indices {
      let descriptor = open(logs[index].path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      // A log that has become too long starts again.
      if lseek(descriptor, 0, SEEK_END) < logs[index].offset { logs[index].offset = 0 }
      let count = pread(descriptor, &piece, piece.count, logs[index].offset)
      guard count > 0 else { continue }
      logs[index].offset += count
      receive(index, piece[..<count])
    }
  }

  private func receive(_ index: Int, _ bytes: ArraySlice<UInt8>) {
    var text = logs[index].rest + bytes
    let end = text.lastIndex(of: 10).map { $0 + 1 } ?? 0
    logs[index].rest = Array(text[end...])
    text.removeSubrange(end...)
    for line in text.split(separator: 10) {
      let line = String(decoding: line, as: UTF8.self)
      guard let parts = LogLine.parts(line) else { continue }
      if parts.message == LogLine.ready { ready.insert(logs[index].process) }
      if parts.message.hasPrefix(Self.statusLine) {
        statusPages[logs[index].process] = String(parts.message.dropFirst(Self.statusLine.count))
      }
      if parts.message.hasPrefix(RetentionAlarm.lossMessage) { hasLoss = true }
      if parts.level == .error { errors.append((logs[index].process, line)) }
    }
  }

  /// The lines of level error that came since the last call.
  func drainErrors() -> [(process: String, line: String)] {
    defer { errors = [] }
    return errors
  }
}
