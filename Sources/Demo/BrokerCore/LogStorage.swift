// SPDX-License-Identifier: Apache-2.0

/// A segment of a partition's log: a run of batches that is written, and goes, as a whole.
public struct SegmentID: Hashable, Sendable {
  /// The partition's log.
  public var log: LogID
  /// The offset with which it begins.
  public var base: Int64
  /// Counts how often compaction has written it anew.
  public var revision: Int32 = 0

  public init(log: LogID, base: Int64, revision: Int32 = 0) {
    self.log = log
    self.base = base
    self.revision = revision
  }
}

/// A partition of a topic; a topic that is made again has another number.
public struct LogID: Hashable, Sendable {
  public var topic: Int64
  public var partition: Int32

  public init(topic: Int64, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }
}

/// Bytes of a segment.
public struct StoredRange: Equatable, Sendable {
  public var segment: SegmentID
  public var range: Range<Int>

  public init(segment: SegmentID, range: Range<Int>) {
    self.segment = segment
    self.range = range
  }
}

/// Where segments are: in memory or in files. The decisions are `PartitionLog`'s.
public protocol LogStorage: AnyObject {
  /// Appends to a segment, which begins to be with its first bytes. Throws when there is no room; nothing of the bytes
  /// is there then.
  func append(
    _ head: [UInt8], _ rest: ArraySlice<UInt8>, to segment: SegmentID
  ) throws(StorageFull)
  /// Appends those bytes of a segment that there are to `output`.
  func read(_ range: StoredRange, into output: inout [UInt8])
  func remove(_ segment: SegmentID)
  /// Keeps an entry of the broker's own state (`Journal`).
  func note(_ entry: [UInt8]) throws(StorageFull)
}

/// The storage takes no more.
public struct StorageFull: Error, Equatable {
  public var reason: String
  public init(_ reason: String) { self.reason = reason }
}

/// Keeps segments in memory.
public final class MemoryStorage: LogStorage {
  private var segments: [SegmentID: [UInt8]] = [:]
  /// Bytes of all segments.
  public private(set) var size = 0
  /// Bytes that it takes.
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
