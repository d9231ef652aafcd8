// SPDX-License-Identifier: Apache-2.0

/// Partitions blocked by an open transaction: readers get no record beyond the first one of a transaction that is
/// neither committed nor aborted (the last stable offset). A producer that died within one blocks them until the broker
/// aborts it (`transaction.timeout.ms`).
public struct OpenTransactions<Partition: Hashable & Sendable>: Sendable {
  private struct Hold {
    var stable: Int64
    var since: UInt64
  }

  private var holds: [Partition: Hold] = [:]

  public init() {}

  /// Notes the end of a partition's log.
  ///
  /// - Parameters:
  ///   - stable: the last stable offset.
  ///   - end: the log end offset, fetched before `stable`; nil if unknown.
  public mutating func note(_ partition: Partition, stable: Int64, end: Int64?, now: UInt64) {
    // What was held back stays so until the last stable offset moves, known end or not.
    if end == nil, holds[partition]?.stable == stable { return }
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

  /// The partition blocked longest, with the first blocked offset and the time in milliseconds; nil if none is.
  public func longest(now: UInt64) -> (partition: Partition, offset: Int64, milliseconds: UInt64)? {
    holds.min { $0.value.since < $1.value.since }
      .map { ($0.key, $0.value.stable, now - min(now, $0.value.since)) }
  }

  public var count: Int { holds.count }
}
