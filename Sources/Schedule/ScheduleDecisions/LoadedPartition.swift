// SPDX-License-Identifier: Apache-2.0
public import Contract

extension ScheduleMachine {
  /// A position in the order in which entries are loaded.
  public struct Place: Sendable, Equatable {
    public let due: Int64
    public let key: ExactText

    public init(due: Int64, key: ExactText) { (self.due, self.key) = (due, key) }

    func isBefore(_ row: ScheduleRow, _ key: ExactText) -> Bool { (due, self.key) < (row.due, key) }
  }
}

/// A partition of the schedule: its entries in memory by time, and how far it has been read.
struct LoadedPartition: Sendable {
  let number: Int32
  var queue = DueQueue()
  /// Entries up to here are or were in memory.
  var loaded = ScheduleMachine.Place(due: .min, key: "")
  /// The next offset to read.
  var position: Int64 = 0
  /// Everything written before this time has been read; nil until known.
  var readUntil: Int64?
  /// The end offset to read to, and the time for which it was asked.
  var target: (end: Int64, at: Int64)?

  mutating func settle() {
    guard let target, position >= target.end else { return }
    readUntil = target.at
    self.target = nil
  }

  init(_ number: Int32) { self.number = number }
}
