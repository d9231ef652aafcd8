// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Resource usage and counters of a running program, from proc(5) and its own log.
extension BuiltProgram {
  /// The peak resident memory in MiB; 0 once it has ended.
  public var peakMebibytes: Int {
    guard let text = try? File.text("/proc/\(pid)/status") else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) >> 10
    }
    return 0
  }

  /// The processor time it has used, user and system, in milliseconds.
  public var processorMilliseconds: Int {
    guard let text = try? File.text("/proc/\(pid)/stat") else { return 0 }
    // The second field is the name, in parentheses; user and system time are the 14th and 15th.
    let fields = text.split(separator: ")").last ?? ""
    let ticks = fields.split(separator: " ").dropFirst(11).prefix(2).compactMap { Int($0) }
    return ticks.reduce(0, +) * 1_000 / max(1, sysconf(Int32(_SC_CLK_TCK)))
  }

  /// The value of a counter in its last counters line; 0 before there is one.
  public func counter(_ name: String) -> Int {
    let lines = output.split(separator: "\n")
    guard let line = lines.last(where: { $0.contains(" counters ") }),
      let field = line.split(separator: " ").last(where: { $0.hasPrefix("\(name)=") })
    else { return 0 }
    return Int(field.dropFirst(name.count + 1).prefix { $0.isNumber }) ?? 0
  }

  /// The process id of a child, by the name of the program and optionally of its command; nil if there is none.
  public func child(_ name: String, _ command: String? = nil) -> Int32? {
    let tasks = "/proc/\(pid)/task"
    var found: Int32?
    for task in File.names(in: tasks) {
      guard let list = try? File.text("\(tasks)/\(task)/children") else { continue }
      for pid in list.split(separator: " ").compactMap({ Int32($0) }) {
        let words = ((try? File.text("/proc/\(pid)/cmdline")) ?? "").split(separator: "\0")
          .map(String.init)
        let isNamed = words.first?.hasSuffix("/" + name) == true
        if isNamed, command == nil || words.dropFirst().first == command { found = pid }
      }
    }
    return found
  }
}
