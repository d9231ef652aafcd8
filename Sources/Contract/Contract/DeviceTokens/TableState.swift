// SPDX-License-Identifier: Apache-2.0

/// Whether the device table has everything its topics say. Only then is it used for lookups: with only some of the
/// devices, results would be wrong.
public enum TableState: Equatable, Sendable {
  /// No `martlet-feedback` has started to read its topics into it.
  case unfilled
  /// The topics are being read into it: for the first time, from the last position, or from the start.
  case filling(TableProgress)
  /// It has everything. The generation changes with each new reading from the first records on.
  case complete(generation: Int64)

  /// The reason why it must not be used; nil if it may be.
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

/// The progress of reading the topics, in offsets of all partitions together.
public struct TableProgress: Equatable, Sendable, CustomStringConvertible {
  public let done: Int64
  /// The number to read when it began; 0 while unknown.
  public let total: Int64

  public init(done: Int64, total: Int64) {
    self.done = max(0, min(done, total))
    self.total = max(0, total)
  }

  /// 0 to 99: never 100 while incomplete.
  public var percent: Int { total == 0 ? 0 : min(99, Int(Double(done) / Double(total) * 100)) }

  /// `37 % of 5870000 records`.
  public var description: String {
    total == 0 ? "it has just begun" : "\(percent) % of \(total) records"
  }
}
