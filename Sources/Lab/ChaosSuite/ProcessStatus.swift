// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc

/// What the kernel says of a process (proc(5), status).
struct ProcessStatus {
  private let lines: [Substring]
  private let pid: Int32

  /// nil when there is no such process.
  init?(_ pid: Int32) {
    guard let text = try? File.read("/proc/\(pid)/status") else { return nil }
    lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    self.pid = pid
  }

  var residentKilobytes: Int? { value("VmRSS:").flatMap { Int($0) } }

  /// Whether SIGTERM does not simply end it: a process that has just been started does not listen yet. Until it is
  /// its own program it blocks all signals, and what comes then ends it once that program begins.
  var handlesTermination: Bool {
    guard let program = Self.program("\(pid)"), program != Self.program("self") else {
      return false
    }
    let bit = UInt64(1) << UInt64(SIGTERM - 1)
    return ["SigCgt:", "SigBlk:"].contains { name in
      value(name).flatMap { UInt64($0, radix: 16) }.map { $0 & bit != 0 } ?? false
    }
  }

  /// The path of a process's program; nil where it is not known.
  private static func program(_ process: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = buffer.withUnsafeMutableBytes {
      readlink(
        "/proc/\(process)/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
    }
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }

  private func value(_ name: String) -> Substring? {
    lines.first { $0.hasPrefix(name) }?.split { $0 == " " || $0 == "\t" }.dropFirst().first
  }
}
