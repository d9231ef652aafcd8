// SPDX-License-Identifier: Apache-2.0

/// Keeps a writer from overrunning the embedded broker.
///
/// The embedded broker keeps 5 MiB per partition and then drops the oldest batches in silence, read or not. A
/// writer asks this gate before it takes more work in: the gate closes while the bytes that no reader has
/// committed yet come near to that limit. On a topic without committed offsets (a table) it closes for ever when
/// the partition is full. Against a real broker no gate is used.
///
/// Bytes are what the producer was given, uncompressed; the broker stores compressed batches, so the count errs on the
/// safe side.
public struct BacklogGate: Sendable {
  /// What kind of topic the gate guards.
  public enum Mode: Sendable {
    /// A reader group consumes the topic: space comes back with its commits.
    case consumed
    /// The topic is a table: what is written stays, so a full partition closes for ever.
    case table
  }

  private struct Partition: Sendable {
    var unread = UnreadBytes()
    var isOpen = true
  }

  /// What the embedded broker keeps of a partition.
  public static let embeddedCapacity: Int64 = 5 * 1_024 * 1_024
  /// Bytes around a record that lies alone in its batch: 61 of the batch, the rest its own lengths and numbers
  /// (KIP-98).
  public static let recordOverhead = 80

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

  /// What lies unread in a partition, in bytes; in a table everything does.
  public func unreadBytes(_ partition: Int) -> Int64 { partitions[partition].unread.count }

  /// The broker acknowledged a record of `bytes` (key and value) at `offset`.
  public mutating func acknowledged(_ partition: Int, offset: Int64, bytes: Int) {
    partitions[partition].unread.acknowledged(
      at: offset, bytes: Int64(bytes + Self.recordOverhead))
    update(partition)
  }

  /// The reader group committed `offset`; a group that never committed has none to report.
  public mutating func committed(_ partition: Int, offset: Int64) {
    guard mode == .consumed else { return }
    partitions[partition].unread.committed(offset)
    update(partition)
  }

  private mutating func update(_ partition: Int) {
    let unread = unreadBytes(partition)
    let wasOpen = partitions[partition].isOpen
    if wasOpen && unread > closeAbove {
      partitions[partition].isOpen = false
      closedCount += 1
    } else if !wasOpen && unread < openBelow {
      partitions[partition].isOpen = true
      closedCount -= 1
    }
  }
}
