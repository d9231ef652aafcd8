// SPDX-License-Identifier: Apache-2.0

/// A partition's state of an idempotent producer: its epoch and last batches.
public struct ProducerState: Equatable, Sendable {
  /// An appended batch.
  public struct Entry: Equatable, Sendable {
    public var first: Int32
    public var last: Int32
    public var offset: Int64
    public var time: Int64
  }

  /// A client has at most five batches of a partition in flight.
  public static let remembered = 5
  public private(set) var epoch: Int16
  public private(set) var entries: [Entry] = []
  /// The time of its last batch, by the broker's clock.
  public private(set) var seen: Int64
  /// Whether it was read from a compacted log, which may lack newer batches of the producer; its next one is accepted.
  public internal(set) var mayLackBatches = false

  /// The decision about a batch.
  public enum Verdict: Equatable, Sendable {
    case append
    /// The batch was already appended.
    case duplicate(Entry)
    case refuse(ErrorCode)
  }

  public init(_ header: BatchHeader, now: Int64) {
    epoch = header.epoch
    seen = now
  }

  /// - Parameter state: The producer's state in this partition; nil if it has written nothing here.
  public static func judge(_ header: BatchHeader, _ state: ProducerState?) -> Verdict {
    guard let state, let last = state.entries.last else { return .append }
    if header.epoch < state.epoch { return .refuse(.invalidProducerEpoch) }
    if header.epoch > state.epoch {
      let isFirst = header.sequence == 0 || state.mayLackBatches
      return isFirst ? .append : .refuse(.outOfOrderSequence)
    }
    let same = state.entries.first { $0.first == header.sequence && $0.last == header.lastSequence }
    if let same { return .duplicate(same) }
    let ahead = (header.sequence &- last.last &- 1) & .max
    let isNext = ahead == 0 || state.mayLackBatches && ahead < Int32.max / 2
    return isNext ? .append : .refuse(.outOfOrderSequence)
  }

  public mutating func note(_ header: BatchHeader, offset: Int64, now: Int64) {
    if header.epoch != epoch { entries = [] }
    epoch = header.epoch
    seen = now
    mayLackBatches = false
    if entries.count == Self.remembered { entries.removeFirst() }
    entries.append(
      .init(
        first: header.sequence, last: header.lastSequence, offset: offset, time: header.newestTime))
  }
}
