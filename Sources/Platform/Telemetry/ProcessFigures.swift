// SPDX-License-Identifier: Apache-2.0

/// The figures of a process from `/proc/self/stat` (proc(5)).
public struct ProcessFigures: Sendable, Equatable {
  /// Processor time in user and kernel mode, in clock ticks.
  public let ticks: Int
  /// When it started, in clock ticks since the system's boot.
  public let startTicks: Int
  /// Bytes of address space.
  public let virtualBytes: Int
  /// Pages in memory.
  public let residentPages: Int

  /// - Parameter text: one line; the program's name in it may contain anything but the last parenthesis.
  public init?(parsing text: String) {
    guard let end = text.lastIndex(of: ")") else { return nil }
    // The third field is the first one here.
    let fields = text[text.index(after: end)...].split(separator: " ")
    func field(_ number: Int) -> Int? {
      fields.indices.contains(number - 3) ? Int(fields[number - 3]) : nil
    }
    guard let user = field(14), let kernel = field(15), let start = field(22),
      let virtual = field(23), let resident = field(24)
    else { return nil }
    ticks = user + kernel
    startTicks = start
    virtualBytes = virtual
    residentPages = resident
  }
}
