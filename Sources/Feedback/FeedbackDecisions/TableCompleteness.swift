// SPDX-License-Identifier: Apache-2.0

/// Tells whether tables are complete: read at least to where their logs ended when it was asked. Only then may anything
/// be judged by them.
///
/// One question at a time, about all partitions. If an end cannot be read, the tables stay incomplete.
public struct TableCompleteness<Partition: Hashable & Sendable>: Sendable {
  @usableFromInline enum Phase: Sendable {
    case idle
    /// To be asked.
    case wanted
    /// The question is on its way; how far was read before it.
    case asked(read: [Partition: Int64])
    /// The ends that are to be reached.
    case known([Partition: Int64])
  }

  private let partitions: [Partition]
  @usableFromInline var phase = Phase.idle

  public init(_ partitions: [Partition]) { self.partitions = partitions }

  /// True if no question is open.
  public var isAnswered: Bool {
    switch phase {
    case .idle, .known: true
    case .wanted, .asked: false
    }
  }

  /// Something is to be judged: what was written until now must be read before.
  public mutating func want() { phase = .wanted }

  /// The partitions whose ends are to be asked for now; nil when nothing is to be asked.
  ///
  /// - Parameter position: the next offset to read of a partition; nil before its log is known to go on there.
  public mutating func question(_ position: (Partition) -> Int64?) -> [Partition]? {
    guard case .wanted = phase else { return nil }
    var read: [Partition: Int64] = [:]
    for partition in partitions { read[partition] = position(partition) }
    phase = .asked(read: read)
    return partitions
  }

  /// The ends came, of as many partitions as answered. An answer to a question that was given up says nothing.
  ///
  /// - Returns: a partition whose log ends before what was read of it: it is another log.
  public mutating func answered(_ ends: [Partition: Int64]) -> Partition? {
    guard case .asked(let read) = phase else { return nil }
    phase = partitions.allSatisfy { ends[$0] != nil } ? .known(ends) : .wanted
    return partitions.first { partition in
      guard let end = ends[partition], let position = read[partition] else { return false }
      return end < position
    }
  }

  /// True if all that was asked for has been read.
  ///
  /// - Parameter position: as for `question`.
  @inlinable
  public func isComplete(_ position: (Partition) -> Int64?) -> Bool {
    guard case .known(let ends) = phase else { return false }
    for (partition, end) in ends {
      guard let next = position(partition), next >= end else { return false }
    }
    return true
  }
}
