// SPDX-License-Identifier: Apache-2.0

/// Partitions that a transaction of a producer holds: readers get no record behind the first one of a transaction that
/// is neither committed nor aborted (the last stable offset). A producer that ended in the middle of one holds them until
/// the broker aborts it (`transaction.timeout.ms`).
public struct OpenTransactions<Partition: Hashable & Sendable>: Sendable {
  private struct Hold {
    var stable: Int64
    var since: UInt64
  }

  private var holds: [Partition: Hold] = [:]

  public init() {}

  /// Takes in how a partition's log ends.
  ///
  /// - Parameters:
  ///   - stable: one past the last record that readers get.
  ///   - end: one past the last record, as it was found out before `stable`; nil if that is not known.
  ///   - now: monotonic milliseconds.
  public mutating func note(_ partition: Partition, stable: Int64, end: Int64?, now: UInt64) {
    guard let end, end > stable else {
      holds[partition] = nil
      return
    }
    if holds[partition]?.stable != stable {
      holds[partition] = Hold(stable: stable, since: now)
    }
  }

  /// Keeps these partitions and forgets all others.
  public mutating func keep(_ partitions: Set<Partition>) {
    holds = holds.filter { partitions.contains($0.key) }
  }

  /// The partition that is held longest, with the first offset that is held back and the milliseconds for which it is;
  /// nil if none is.
  public func longest(now: UInt64) -> (partition: Partition, offset: Int64, milliseconds: UInt64)? {
    holds.min { $0.value.since < $1.value.since }
      .map { ($0.key, $0.value.stable, now - min(now, $0.value.since)) }
  }

  public var count: Int { holds.count }
}
