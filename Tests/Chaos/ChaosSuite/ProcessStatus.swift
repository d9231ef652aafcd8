// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// The kernel's report of a process (proc(5), status).
struct ProcessStatus {
  private let lines: [Substring]

  /// Returns nil if there is no such process.
  init?(_ pid: Int32) {
    guard let text = try? File.text("/proc/\(pid)/status") else { return nil }
    lines = text.split(separator: "\n")
  }

  var residentKilobytes: Int? { value("VmRSS:").flatMap { Int($0) } }

  private func value(_ name: String) -> Substring? {
    lines.first { $0.hasPrefix(name) }?.split { $0 == " " || $0 == "\t" }.dropFirst().first
  }
}
