// SPDX-License-Identifier: Apache-2.0

/// A partition's log as a value type: its segments, the positions of batches, and their producers. The storage holds
/// the bytes.
public struct PartitionLog: Sendable {
  /// A sequence of batches; the last segment is active.
  public struct Segment: Sendable {
    public var id: SegmentID
    public var size = 0
    /// The offset after its last record.
    public var end: Int64
    public var newestTime: Int64 = -1
    /// The time of the first append.
    public var began: Int64
    /// An index entry every `indexInterval` bytes.
    public var index: [(offset: Int64, place: Int)] = []

    /// Adds a batch at the end of the segment.
    mutating func extend(_ offset: Int64, _ bytes: Int) {
      if size >= (index.last?.place ?? -PartitionLog.indexInterval) + PartitionLog.indexInterval {
        index.append((offset, size))
      }
      size += bytes
    }
  }

  /// The position of an offset.
  public struct Position: Equatable, Sendable {
    public var offset: Int64
    public var time: Int64
    public var epoch: Int32
  }

  /// The number of bytes between two index entries.
  public static let indexInterval = 32 << 10
  /// The minimum number of recent batches with known positions: consumers that keep up read one of them.
  private static let recentBatches = 512
  public let id: LogID
  public internal(set) var segments: [Segment] = []
  public internal(set) var start: Int64 = 0
  public internal(set) var end: Int64 = 0
  /// The leader epochs with their first offsets.
  public private(set) var epochs: [(epoch: Int32, offset: Int64)] = [(0, 0)]
  public internal(set) var producers: [Int64: ProducerState] = [:]
  /// The recent batches of the active segment with their base offsets.
  private var recent: [(offset: Int64, place: Int)] = []
  /// The offset up to which compaction has processed all keys.
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

  /// The last epoch that is not above the requested one, and its end offset; nil if unknown.
  public func endOfEpoch(_ asked: Int32) -> (epoch: Int32, end: Int64)? {
    guard let place = epochs.lastIndex(where: { $0.epoch <= asked }), asked <= epoch else {
      return nil
    }
    return (epochs[place].epoch, place + 1 < epochs.count ? epochs[place + 1].offset : end)
  }

  // MARK: Writing

  /// Appends a checked batch; returns its base offset.
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

  /// Adds a batch stored at the end of the active segment.
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

  /// Returns the stored batches from the one containing `offset`: whole batches, up to `atMost` bytes.
  ///
  /// - Parameter isFirst: Returns at least one batch, however large.
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

  /// The number of bytes from the batch containing `offset` to the end.
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

  /// The segment and position of the first batch that ends after the offset.
  private func place(of offset: Int64, _ storage: any LogStorage) -> (segment: Int, byte: Int)? {
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

  /// The last entry that the condition holds for, by binary search.
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

  func header(_ segment: Segment, at byte: Int, _ storage: any LogStorage) -> BatchHeader? {
    guard byte < segment.size else { return nil }
    var bytes: [UInt8] = []
    storage.read(.init(segment: segment.id, range: byte..<byte + BatchHeader.size), into: &bytes)
    return BatchHeader(bytes[...])
  }

  /// The first record with this time or a later one; nil if there is none.
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

  /// The first record with the newest time; nil in an empty log.
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
    return Records.read(bytes[...], header)?.first { $0.offset >= start && isWanted($0) }
  }

  // MARK: What goes

  /// Advances the log's start offset and deletes the segments before it.
  public mutating func cut(to offset: Int64, _ storage: any LogStorage) {
    start = max(start, min(offset, end))
    while let first = segments.first, first.end <= start, segments.count > 1 || start == end {
      storage.remove(first.id)
      segments.removeFirst()
    }
    while epochs.count > 1, epochs[1].offset <= start { epochs.removeFirst() }
  }

  /// The minimum lifetime of records with old timestamps: Kafka checks retention every five minutes by default.
  private static let shortestStay: Int64 = 300_000

  private func isOld(_ segment: Segment, _ settings: TopicSettings, now: Int64) -> Bool {
    let limit = settings.retentionMilliseconds
    let age = now - (segment.newestTime >= 0 ? segment.newestTime : segment.began)
    return limit >= 0 && age > limit && now - segment.began > min(limit, Self.shortestStay)
  }

  /// The start offset according to the topic's retention by size and time.
  public func startByRetention(_ settings: TopicSettings, now: Int64) -> Int64 {
    guard settings.isDeleting else { return start }
    var left = size
    var kept = start
    for segment in segments.dropLast() {
      let isTooMuch = settings.retentionBytes >= 0 && left - segment.size >= settings.retentionBytes
      guard isTooMuch || isOld(segment, settings, now: now) else { return kept }
      left -= segment.size
      kept = segment.end
    }
    guard let last = segments.last, kept == last.id.base || segments.count == 1 else { return kept }
    // The active segment is deleted only if all of it is too old.
    return last.newestTime >= 0 && isOld(last, settings, now: now) ? end : kept
  }

  public mutating func remove(_ storage: any LogStorage) {
    for segment in segments { storage.remove(segment.id) }
    segments = []
  }

  /// Forgets producers that have written nothing since this time.
  public mutating func expireProducers(before time: Int64) {
    producers = producers.filter { $0.value.seen >= time }
  }
}
