// SPDX-License-Identifier: Apache-2.0

/// A partition's log as a value: its segments, where batches are in them, and who wrote them. The bytes are the
/// storage's.
public struct PartitionLog: Sendable {
  /// A run of batches; the last one is written to.
  public struct Segment: Sendable {
    public var id: SegmentID
    public var size = 0
    /// The offset behind its last record.
    public var end: Int64
    public var newestTime: Int64 = -1
    /// When its first batch came.
    public var began: Int64
    /// A batch every `indexInterval` bytes.
    public var index: [(offset: Int64, place: Int)] = []

    /// Takes a batch that lies at its end into account.
    mutating func extend(_ offset: Int64, _ bytes: Int) {
      if size >= (index.last?.place ?? -PartitionLog.indexInterval) + PartitionLog.indexInterval {
        index.append((offset, size))
      }
      size += bytes
    }
  }

  /// Where an offset lies.
  public struct Position: Equatable, Sendable {
    public var offset: Int64
    public var time: Int64
    public var epoch: Int32
  }

  /// Bytes between two entries of a segment's index.
  public static let indexInterval = 32 << 10
  /// Batches whose places are known at least: who keeps up reads one of them.
  private static let recentBatches = 512
  public let id: LogID
  public internal(set) var segments: [Segment] = []
  public internal(set) var start: Int64 = 0
  public internal(set) var end: Int64 = 0
  /// Each leader epoch with its first offset.
  public private(set) var epochs: [(epoch: Int32, offset: Int64)] = [(0, 0)]
  public internal(set) var producers: [Int64: ProducerState] = [:]
  /// The newest batches of the last segment, each with its first offset.
  private var recent: [(offset: Int64, place: Int)] = []
  /// Up to here compaction has looked at all keys.
  public internal(set) var cleanEnd: Int64 = 0

  public init(_ id: LogID) { self.id = id }

  public var size: Int { segments.reduce(0) { $0 + $1.size } }
  public var epoch: Int32 { epochs.last!.epoch }

  public mutating func beginEpoch(_ epoch: Int32) {
    guard epoch > self.epoch else { return }
    if epochs.last!.offset == end { epochs.removeLast() }
    epochs.append((epoch, end))
    if epochs.count > 1_000 { epochs.removeFirst() }
  }

  /// The last epoch up to the one that is asked for, and the offset behind its records; nil for one that is not known.
  public func endOfEpoch(_ asked: Int32) -> (epoch: Int32, end: Int64)? {
    guard let place = epochs.lastIndex(where: { $0.epoch <= asked }), asked <= epoch else {
      return nil
    }
    return (epochs[place].epoch, place + 1 < epochs.count ? epochs[place + 1].offset : end)
  }

  // MARK: Writing

  /// Appends a batch that has been checked; returns its offset.
  public mutating func append(
    _ batch: ArraySlice<UInt8>, _ header: BatchHeader, _ settings: TopicSettings, now: Int64,
    _ storage: any LogStorage
  ) throws(StorageFull) -> Int64 {
    let offset = end
    var head = Array(batch.prefix(BatchHeader.size))
    BatchHeader.place(&head, offset: offset, leaderEpoch: epoch)
    if needsNewSegment(for: batch.count, settings, now: now) {
      segments.append(.init(id: .init(log: id, base: offset), end: offset, began: now))
      recent = []
    }
    do {
      try storage.append(head, batch.dropFirst(head.count), to: segments[segments.count - 1].id)
    } catch {
      if segments[segments.count - 1].size == 0 { segments.removeLast() }
      throw error
    }
    var placed = header
    placed.baseOffset = offset
    note(placed, now: now)
    return offset
  }

  private func needsNewSegment(for size: Int, _ settings: TopicSettings, now: Int64) -> Bool {
    guard let last = segments.last else { return true }
    return last.size + size > settings.segmentBytes
      || now - last.began >= settings.segmentMilliseconds
  }

  /// Takes a batch that lies at the end of the last segment into account.
  public mutating func note(_ header: BatchHeader, now: Int64) {
    let last = segments.count - 1
    let place = segments[last].size
    if place == 0 { recent = [] }
    recent.append((header.baseOffset, place))
    if recent.count > 2 * Self.recentBatches { recent.removeFirst(Self.recentBatches) }
    segments[last].extend(header.baseOffset, header.size)
    segments[last].end = header.nextOffset
    segments[last].newestTime = max(segments[last].newestTime, header.newestTime)
    end = header.nextOffset
    if header.leaderEpoch > epoch { beginEpoch(header.leaderEpoch) }
    guard header.producer >= 0, !header.isControl, header.sequence >= 0 else { return }
    producers[header.producer, default: .init(header, now: now)]
      .note(header, offset: header.baseOffset, now: now)
  }

  // MARK: Reading

  /// The stored batches from the one with `offset` on: whole batches of together `atMost` bytes.
  ///
  /// - Parameter isFirst: one batch at least, however large.
  public func read(
    from offset: Int64, atMost: Int, isFirst: Bool = true, _ storage: any LogStorage
  ) -> [StoredRange] {
    guard offset < end, var place = place(of: offset, storage) else { return [] }
    var ranges: [StoredRange] = []
    var room = atMost
    while place.segment < segments.count {
      let segment = segments[place.segment]
      let stop = boundary(
        segment, from: place.byte, room, isFirst: isFirst && ranges.isEmpty, storage)
      if stop > place.byte {
        ranges.append(.init(segment: segment.id, range: place.byte..<stop))
        room -= stop - place.byte
      }
      guard stop == segment.size else { break }
      place = (place.segment + 1, 0)
    }
    return ranges
  }

  /// Bytes of the batches from the one with `offset` on.
  public func bytes(from offset: Int64, _ storage: any LogStorage) -> Int {
    guard offset < end, let place = place(of: offset, storage) else { return 0 }
    return segments[place.segment...].reduce(-place.byte) { $0 + $1.size }
  }

  /// The end of the last batch that fits.
  private func boundary(
    _ segment: Segment, from byte: Int, _ room: Int, isFirst: Bool, _ storage: any LogStorage
  ) -> Int {
    if segment.size - byte <= room { return segment.size }
    if segment.id == segments.last?.id,
      let known = Self.last(recent, where: { $0.place <= byte + max(room, 0) }), known.place > byte
    {
      return known.place
    }
    var stop = max(byte, Self.last(segment.index) { $0.place <= byte + max(room, 0) }?.place ?? 0)
    while let header = header(segment, at: stop, storage) {
      let next = stop + header.size
      guard next - byte <= room || (isFirst && stop == byte) else { break }
      stop = next
    }
    return stop
  }

  /// The segment and byte of the first batch that ends behind the offset.
  private func place(
    of offset: Int64, _ storage: any LogStorage
  ) -> (segment: Int, byte: Int)? {
    var (low, high) = (0, segments.count)
    while low < high {
      let middle = (low + high) / 2
      if segments[middle].end <= offset { low = middle + 1 } else { high = middle }
    }
    guard low < segments.count else { return nil }
    let segment = segments[low]
    if low == segments.count - 1, let known = Self.last(recent, where: { $0.offset <= offset }) {
      return (low, known.place)
    }
    var byte = Self.last(segment.index) { $0.offset <= offset }?.place ?? 0
    while let header = header(segment, at: byte, storage), header.lastOffset < offset {
      byte += header.size
    }
    return (low, byte)
  }

  /// The last of the entries, which ascend, that it holds for.
  private static func last(
    _ entries: [(offset: Int64, place: Int)], where holds: ((offset: Int64, place: Int)) -> Bool
  ) -> (offset: Int64, place: Int)? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if holds(entries[middle]) { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : entries[low - 1]
  }

  func header(
    _ segment: Segment, at byte: Int, _ storage: any LogStorage
  ) -> BatchHeader? {
    guard byte < segment.size else { return nil }
    var bytes: [UInt8] = []
    storage.read(
      .init(segment: segment.id, range: byte..<byte + BatchHeader.size), into: &bytes)
    return BatchHeader(bytes[...])
  }

  /// The first record of that time or a later one; nil if there is none.
  public func position(atTime time: Int64, _ storage: any LogStorage) -> Position? {
    for segment in segments where segment.newestTime >= time {
      var byte = 0
      while let header = header(segment, at: byte, storage) {
        defer { byte += header.size }
        guard header.newestTime >= time, header.lastOffset >= start else { continue }
        let record = firstRecord(header, segment, at: byte, storage) { $0.time >= time }
        let offset = max(record?.offset ?? header.baseOffset, start)
        return .init(
          offset: offset, time: record?.time ?? header.firstTime, epoch: header.leaderEpoch)
      }
    }
    return nil
  }

  /// The record with the newest time, the first of them; nil in an empty log.
  public func newest(_ storage: any LogStorage) -> Position? {
    guard let time = segments.map(\.newestTime).max(), time >= 0 else { return nil }
    return position(atTime: time, storage)
  }

  private func firstRecord(
    _ header: BatchHeader, _ segment: Segment, at byte: Int, _ storage: any LogStorage,
    where isWanted: (Record) -> Bool
  ) -> Record? {
    var bytes: [UInt8] = []
    storage.read(.init(segment: segment.id, range: byte..<byte + header.size), into: &bytes)
    return Records.read(bytes[...], header)?.first {
      $0.offset >= start && isWanted($0)
    }
  }

  // MARK: What goes

  /// Moves the start of the log and removes the segments before it.
  public mutating func cut(to offset: Int64, _ storage: any LogStorage) {
    start = max(start, min(offset, end))
    while let first = segments.first, first.end <= start, segments.count > 1 || start == end {
      storage.remove(first.id)
      segments.removeFirst()
    }
    while epochs.count > 1, epochs[1].offset <= start { epochs.removeFirst() }
  }

  /// Records that come with an old time stay as long, by default: every five minutes Kafka looks for old segments.
  private static let shortestStay: Int64 = 300_000

  private func isOld(_ segment: Segment, _ settings: TopicSettings, now: Int64) -> Bool {
    let limit = settings.retentionMilliseconds
    let age = now - (segment.newestTime >= 0 ? segment.newestTime : segment.began)
    return limit >= 0 && age > limit && now - segment.began > min(limit, Self.shortestStay)
  }

  /// Where the log has to begin by the topic's limits of bytes and time.
  public func startByRetention(_ settings: TopicSettings, now: Int64) -> Int64 {
    guard settings.isDeleting else { return start }
    var left = size
    var kept = start
    for segment in segments.dropLast() {
      let isTooMuch =
        settings.retentionBytes >= 0 && left - segment.size >= settings.retentionBytes
      guard isTooMuch || isOld(segment, settings, now: now) else { return kept }
      left -= segment.size
      kept = segment.end
    }
    guard let last = segments.last, kept == last.id.base || segments.count == 1 else { return kept }
    // The segment that is written to goes only when all of it is too old.
    return last.newestTime >= 0 && isOld(last, settings, now: now) ? end : kept
  }

  public mutating func remove(_ storage: any LogStorage) {
    for segment in segments { storage.remove(segment.id) }
    segments = []
  }

  /// Forgets producers that have written nothing for so long.
  public mutating func expireProducers(before time: Int64) {
    producers = producers.filter { $0.value.seen >= time }
  }
}
