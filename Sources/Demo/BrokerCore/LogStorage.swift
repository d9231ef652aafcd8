// SPDX-License-Identifier: Apache-2.0

/// A segment of a partition's log: a sequence of batches that is stored and deleted as a whole.
public struct SegmentID: Hashable, Sendable {
  /// The partition's log.
  public var log: LogID
  /// The base offset.
  public var base: Int64
  /// The number of times that compaction has rewritten it.
  public var revision: Int32 = 0

  public init(log: LogID, base: Int64, revision: Int32 = 0) {
    self.log = log
    self.base = base
    self.revision = revision
  }
}

/// A partition of a topic; a recreated topic has another number.
public struct LogID: Hashable, Sendable {
  public var topic: Int64
  public var partition: Int32

  public init(topic: Int64, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }
}

/// A range of bytes of a segment.
public struct StoredRange: Equatable, Sendable {
  public var segment: SegmentID
  public var range: Range<Int>

  public init(segment: SegmentID, range: Range<Int>) {
    self.segment = segment
    self.range = range
  }
}

/// Stores segments in memory or in files. `PartitionLog` makes the decisions.
public protocol LogStorage: AnyObject {
  /// Appends to a segment, which is created with its first bytes. Throws if there is no room; nothing is appended then.
  func append(_ head: [UInt8], _ rest: ArraySlice<UInt8>, to segment: SegmentID) throws(StorageFull)
  /// Appends the available bytes of a range to `output`.
  func read(_ range: StoredRange, into output: inout [UInt8])
  func remove(_ segment: SegmentID)
  /// Stores an entry of the broker's state (`Journal`).
  func note(_ entry: [UInt8]) throws(StorageFull)
}

public struct StorageFull: Error, Equatable {
  public var reason: String
  public init(_ reason: String) { self.reason = reason }
}

/// Keeps segments in memory.
public final class MemoryStorage: LogStorage {
  private var segments: [SegmentID: [UInt8]] = [:]
  /// The size of all segments in bytes.
  public private(set) var size = 0
  /// The maximum size in bytes.
  public var capacity = Int.max

  public init() {}

  public func append(
    _ head: [UInt8], _ rest: ArraySlice<UInt8>, to segment: SegmentID
  ) throws(StorageFull) {
    let count = head.count + rest.count
    guard size + count <= capacity else {
      throw StorageFull(
        "\(capacity >> 20) MiB of records are in memory: give the broker a folder (--dir)")
    }
    size += count
    segments[segment, default: []] += head
    segments[segment]! += rest
  }

  public func read(_ range: StoredRange, into output: inout [UInt8]) {
    guard let bytes = segments[range.segment] else { return }
    output += bytes[range.range.clamped(to: 0..<bytes.count)]
  }

  public func remove(_ segment: SegmentID) {
    size -= segments.removeValue(forKey: segment)?.count ?? 0
  }

  public func note(_ entry: [UInt8]) {}
}
