// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit
import Telemetry

/// Follows the log files of a pipeline's processes: which ones are ready, and what errors occur. Owned by one thread.
final class ProcessJournal {
  private struct Log {
    let process: String
    let path: String
    /// The offset at which reading continues.
    var offset = 0
    /// The bytes of an incomplete line.
    var rest: [UInt8] = []
  }

  /// The maximum number of bytes read from one file at a time.
  private static let pieceSize = 1 << 20

  private static let statusLine = "\(ServiceKitLog.statusPages.rawValue) url="

  private var logs: [Log] = []
  private var piece = [UInt8](repeating: 0, count: pieceSize)
  private var errors: [(process: String, line: String)] = []
  /// The processes that have reported that they are ready.
  private(set) var ready: Set<String> = []
  /// The addresses of the processes' status pages, such as `http://127.0.0.1:43210`.
  private(set) var statusPages: [String: String] = [:]
  /// Whether a process has reported that records were lost before they were read.
  private(set) var hasLoss = false

  /// Follows a process's log from now on; the file may not exist yet.
  func follow(_ process: String, _ path: String) {
    guard !logs.contains(where: { $0.process == process }) else { return }
    logs.append(Log(process: process, path: path))
  }

  /// Reads what was written since the last call.
  func look() {
    for index in logs.indices {
      let descriptor = open(logs[index].path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      // A log that was rotated starts again.
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
      if parts.message == ServiceKitLog.ready.rawValue { ready.insert(logs[index].process) }
      if parts.message.hasPrefix(Self.statusLine) {
        statusPages[logs[index].process] = String(parts.message.dropFirst(Self.statusLine.count))
      }
      if parts.message.hasPrefix(ServiceKitLog.recordsLost.rawValue) { hasLoss = true }
      if parts.level == .error { errors.append((logs[index].process, line)) }
    }
  }

  /// Returns the lines of level error since the last call.
  func drainErrors() -> [(process: String, line: String)] {
    defer { errors = [] }
    return errors
  }
}
