// SPDX-License-Identifier: Apache-2.0

/// Whether the table of devices has all that its topics say. Only then may anything be looked up in it: from some of the
/// devices no other answer follows than from all, and it would be wrong.
public enum TableState: Equatable, Sendable {
  /// No `martlet-feedback` has begun to read its topics into it.
  case unfilled
  /// The topics are being read into it, for the first time, or from where they were read before, or anew.
  case filling(TableProgress)
  /// It has all of them. Another number stands for another reading from their first records on.
  case complete(generation: Int64)

  /// Why nothing is to be looked up; nil if it may be.
  public var obstacle: String? {
    switch self {
    case .complete: nil
    case .unfilled:
      "martlet-feedback has not read its topics into this database; name the database that it keeps"
    case .filling(let progress):
      "martlet-feedback is reading its topics into the database: \(progress)"
    }
  }
}

/// How far the reading of topics is, in offsets of all partitions together.
public struct TableProgress: Equatable, Sendable, CustomStringConvertible {
  public let done: Int64
  /// How many there were to read when it began; 0 if that is not known yet.
  public let total: Int64

  public init(done: Int64, total: Int64) {
    self.done = max(0, min(done, total))
    self.total = max(0, total)
  }

  /// 0 to 99: what is not complete is not at its end.
  public var percent: Int {
    total == 0 ? 0 : min(99, Int(Double(done) / Double(total) * 100))
  }

  /// `37 % of 5870000 records`.
  public var description: String {
    total == 0 ? "it has just begun" : "\(percent) % of \(total) records"
  }
}
