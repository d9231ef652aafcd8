// SPDX-License-Identifier: Apache-2.0

/// Keeps a writer from overrunning the embedded broker.
///
/// The embedded broker keeps 5 MiB a partition and then drops the oldest batches in silence, read or not. A
/// writer asks this gate before it takes more work in: the gate closes while the bytes that no reader has
/// committed yet come near to that limit. On a topic without committed offsets (a table) it closes for ever when
/// the partition is full. Against a real broker no gate is used.
///
/// Bytes are what the producer was given, uncompressed; the broker stores compressed batches, so the estimate
/// errs on the safe side. Other writers' records are seen through the offsets.
public struct BacklogGate: Sendable {
  /// What kind of topic the gate guards.
  public enum Mode: Sendable {
    /// A reader group consumes the topic: space comes back with its commits.
    case consumed
    /// The topic is a table: what is written stays, so a full partition closes for ever.
    case table
  }

  private struct Partition: Sendable {
    /// One past the newest acknowledged offset.
    var high: Int64 = 0
    var committed: Int64 = 0
    /// Bytes per record in 1/256, quick to rise and slow to fall.
    var averageBytes: Int64 = 0
    var isOpen = true
  }

  /// What the embedded broker keeps of a partition.
  public static let embeddedCapacity: Int64 = 5 * 1_024 * 1_024

  private var partitions: [Partition]
  private let mode: Mode
  private let closeAbove: Int64
  private let openBelow: Int64
  /// Partitions that are closed now.
  public private(set) var closedCount = 0

  /// - Parameters:
  ///   - capacity: bytes a partition holds before the broker drops data; closes above 60 % of it, opens below 50 %.
  public init(partitions: Int, mode: Mode = .consumed, capacity: Int64 = embeddedCapacity) {
    self.partitions = Array(repeating: Partition(), count: partitions)
    self.mode = mode
    closeAbove = capacity * 60 / 100
    openBelow = capacity * 50 / 100
  }

  /// True while no partition is closed: a writer that cannot know where its next record goes asks this.
  public var isOpen: Bool { closedCount == 0 }

  /// True while records may be written to the partition.
  public func isOpen(_ partition: Int) -> Bool { partitions[partition].isOpen }

  /// The estimate for a partition, in bytes.
  public func unreadBytes(_ partition: Int) -> Int64 {
    let state = partitions[partition]
    let unread = mode == .table ? state.high : max(0, state.high - state.committed)
    let (product, overflow) = unread.multipliedReportingOverflow(by: state.averageBytes)
    return overflow ? .max : product / 256
  }

  /// The broker acknowledged a record of `bytes` (key and value) at `offset`.
  public mutating func acknowledged(_ partition: Int, offset: Int64, bytes: Int) {
    partitions[partition].high = max(partitions[partition].high, offset + 1)
    let sample = Int64(bytes) * 256
    let average = partitions[partition].averageBytes
    if average == 0 {
      partitions[partition].averageBytes = sample
    } else if sample > average {
      partitions[partition].averageBytes += (sample - average + 7) / 8
    } else {
      partitions[partition].averageBytes -= (average - sample) / 256
    }
    update(partition)
  }

  /// The partition's end offset was looked up (other writers count, too).
  public mutating func ended(_ partition: Int, offset: Int64) {
    partitions[partition].high = max(partitions[partition].high, offset)
    update(partition)
  }

  /// The reader group committed `offset`; a group that never committed has none to report.
  public mutating func committed(_ partition: Int, offset: Int64) {
    partitions[partition].committed = max(partitions[partition].committed, offset)
    update(partition)
  }

  private mutating func update(_ partition: Int) {
    let unread = unreadBytes(partition)
    let wasOpen = partitions[partition].isOpen
    if wasOpen && unread > closeAbove {
      partitions[partition].isOpen = false
      closedCount += 1
    } else if !wasOpen && mode == .consumed && unread < openBelow {
      partitions[partition].isOpen = true
      closedCount -= 1
    }
  }
}
