// SPDX-License-Identifier: Apache-2.0

/// Compaction of a partition's log: it keeps the newest record of each key, and tombstones for the topic's retention.
///
/// It proceeds segment by segment, so that a loop can do other work in between. It does not change the active segment.
public struct Compaction: Sendable {
  /// The number of keys in one run, about 40 MiB. A run ends there, and the next one continues.
  public static let mostKeys = 600_000

  /// The newest offset of each key, by two 64-bit hashes of the key: 128 bits do not collide by chance.
  private var newest: [KeyHash: Int64] = [:]
  private var end: Int64
  private var next: Int64
  private var isNoting = true
  private let tombstonesBefore: Int64
  /// Segments with newer records are skipped.
  private let youngest: Int64
  /// Whether a batch that cannot be read was kept: without the tombstones behind it, its values would be back.
  private var keepsTombstones = false

  private struct KeyHash: Hashable {
    let low: UInt64
    let high: UInt64

    init(_ key: ArraySlice<UInt8>) {
      var (low, high): (UInt64, UInt64) = (0xCBF2_9CE4_8422_2325, 0x9E37_79B9_7F4A_7C15)
      for byte in key {
        low = (low ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        high = (high ^ UInt64(byte)) &* 0xD6E8_FEB8_6659_FD93
        high ^= high >> 29
      }
      (self.low, self.high) = (low, high)
    }
  }

  /// The number of bytes that no run has compacted, and of all bytes, in inactive segments.
  static func dirt(_ log: PartitionLog) -> (dirty: Int, all: Int) {
    log.segments.dropLast().reduce((0, 0)) { sum, segment in
      (sum.0 + (segment.end > log.cleanEnd ? segment.size : 0), sum.1 + segment.size)
    }
  }

  /// Creates a run if the topic's minimum share of the log is dirty.
  public init?(_ log: PartitionLog, _ settings: TopicSettings, now: Int64) {
    let (dirty, all) = Self.dirt(log)
    guard settings.isCompacting, dirty > 0 else { return nil }
    let oldest = log.segments.first { $0.end > log.cleanEnd }?.began ?? now
    guard Double(dirty) >= settings.dirtyRatio * Double(all) || now - oldest > settings.longestLag
    else { return nil }
    tombstonesBefore = now - settings.deleteRetention
    youngest = settings.compactionLag == 0 ? .max : now - settings.compactionLag
    next = log.segments[0].id.base
    end = log.cleanEnd
    if nextDirty(log) == nil { return nil }
  }

  /// The next segment whose keys must be recorded.
  private func nextDirty(_ log: PartitionLog) -> PartitionLog.Segment? {
    guard newest.count <= Self.mostKeys,
      let segment = log.segments.dropLast().first(where: { $0.end > end }),
      segment.newestTime <= youngest
    else { return nil }
    return segment
  }

  private mutating func note(_ segment: PartitionLog.Segment, _ storage: any LogStorage) {
    Self.forEachBatch(segment, storage) { batch, header in
      for record in Records.read(batch, header) ?? [] {
        if let key = record.key { newest[KeyHash(key)] = record.offset }
      }
    }
    end = segment.end
  }

  /// Records the keys of the next segment or, when there are enough, rewrites the next segment that contains obsolete
  /// records. Returns false when the run is over.
  public mutating func step(
    _ log: inout PartitionLog, _ storage: any LogStorage
  ) throws(StorageFull) -> Bool {
    if isNoting, let segment = nextDirty(log) {
      note(segment, storage)
      return true
    }
    isNoting = false
    guard let place = log.segments.firstIndex(where: { $0.id.base >= next }),
      place < log.segments.count - 1, log.segments[place].end <= end
    else {
      log.cleanEnd = max(log.cleanEnd, end)
      return false
    }
    let segment = log.segments[place]
    next = segment.end
    var (kept, hasObsolete): ([[UInt8]], Bool) = ([], false)
    Self.forEachBatch(segment, storage) { batch, header in
      let remainder = remainder(of: batch, header)
      hasObsolete = hasObsolete || remainder != nil
      kept += remainder ?? [Array(batch)]
    }
    // What is left of a compressed batch may be larger than it was, but its obsolete values must not outlive their
    // tombstones.
    guard hasObsolete else { return true }
    try log.replace(place, with: kept, storage)
    return true
  }

  /// What remains of a batch that has obsolete records: one batch or none; nil if it has none of them. An unreadable or
  /// transactional batch is kept as it is.
  private mutating func remainder(
    of batch: ArraySlice<UInt8>, _ header: BatchHeader
  ) -> [[UInt8]]? {
    if header.isControl { return nil }
    guard let records = Records.read(batch, header) else {
      keepsTombstones = true
      return nil
    }
    let kept = records.filter { record in
      guard let key = record.key else { return false }
      guard (newest[KeyHash(key)] ?? record.offset) <= record.offset else { return false }
      return !record.isTombstone || keepsTombstones || header.newestTime > tombstonesBefore
    }
    if kept.isEmpty { return [] }
    return kept.count == records.count ? nil : [Records.batch(kept, of: batch)]
  }

  static func forEachBatch(
    _ segment: PartitionLog.Segment, _ storage: any LogStorage,
    _ body: (ArraySlice<UInt8>, BatchHeader) -> Void
  ) {
    var bytes: [UInt8] = []
    storage.read(.init(segment: segment.id, range: 0..<segment.size), into: &bytes)
    var rest = bytes[...]
    while let header = BatchHeader(rest), header.size <= rest.count {
      body(rest.prefix(header.size), header)
      rest = rest.dropFirst(header.size)
    }
  }
}

extension PartitionLog {
  /// Replaces a segment with these batches; an empty one is deleted, but its offsets are not reused.
  mutating func replace(
    _ place: Int, with batches: [[UInt8]], _ storage: any LogStorage
  ) throws(StorageFull) {
    let old = segments[place]
    var new = Segment(
      id: .init(log: id, base: old.id.base, revision: old.id.revision + 1), end: old.end,
      began: old.began)
    for batch in batches {
      guard let header = BatchHeader(batch[...]) else { continue }
      new.extend(header.baseOffset, batch.count)
      new.newestTime = max(new.newestTime, header.newestTime)
    }
    if new.size > 0 { try storage.append(Array(batches.joined()), [], to: new.id) }
    storage.remove(old.id)
    if new.size > 0 { segments[place] = new } else { segments.remove(at: place) }
  }
}
