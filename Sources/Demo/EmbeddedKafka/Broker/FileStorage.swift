// SPDX-License-Identifier: Apache-2.0
public import BrokerCore
public import EventLoop
import Glibc

/// Stores segments as files in a folder, along with the broker's state as a journal.
///
/// Acknowledged records are in the files, so they survive a kill of the process; whether they survive a power loss
/// depends on `syncs`. Owned by one thread.
public final class FileStorage: LogStorage {
  /// The maximum number of open segment files.
  private static let mostOpen = 256
  /// The journal is rewritten once it has grown to this many bytes and to twice its size after the last rewrite.
  private static let journalRoom = 4 << 20
  private let folder: String
  /// Whether each append is synced to disk (fdatasync) before it is acknowledged.
  private let syncs: Bool
  private let lock: Int32
  private var journal: Int32
  private var journalSize = 0
  private var journalLimit = journalRoom
  private var open: [SegmentID: SegmentFile] = [:]

  /// Opens the folder, which may be empty or missing. Throws if another broker uses it.
  public init(folder: String, syncs: Bool = false) throws(SystemError) {
    self.folder = folder
    self.syncs = syncs
    try File.makeFolder(folder)
    lock = Glibc.open(folder + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw SystemError.last("cannot open \(folder)/lock") }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      let error = SystemError.last("cannot lock \(folder): does another broker use it?")
      close(lock)
      throw error
    }
    journal = -1
  }

  deinit {
    if journal >= 0 { close(journal) }
    close(lock)
  }

  // MARK: Segments

  private func path(_ segment: SegmentID) -> String {
    "\(folder)/\(segment.log.topic)-\(segment.log.partition)-\(segment.base)-\(segment.revision).log"
  }

  /// Parses the segment id from a file's name.
  private static func segment(_ name: String) -> SegmentID? {
    guard name.hasSuffix(".log") else { return nil }
    let parts = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, let topic = Int64(parts[0]), let partition = Int32(parts[1]),
      let base = Int64(parts[2]), let revision = Int32(parts[3])
    else { return nil }
    return SegmentID(log: .init(topic: topic, partition: partition), base: base, revision: revision)
  }

  /// A segment's file; nil if it cannot be opened.
  func file(_ segment: SegmentID) -> SegmentFile? {
    if let file = open[segment] { return file }
    if open.count >= Self.mostOpen, let old = open.first { open[old.key] = nil }
    let descriptor = Glibc.open(path(segment), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    let file = SegmentFile(descriptor)
    open[segment] = file
    return file
  }

  public func append(
    _ head: [UInt8], _ rest: ArraySlice<UInt8>, to segment: SegmentID
  ) throws(StorageFull) {
    guard let file = file(segment) else { throw StorageFull(Self.reason(path(segment))) }
    try write(head, rest, to: file.descriptor, at: file.size) { path(segment) }
    file.size += head.count + rest.count
  }

  /// Writes everything or nothing.
  private func write(
    _ head: [UInt8], _ rest: ArraySlice<UInt8>, to descriptor: Int32, at place: Int,
    path: () -> String
  ) throws(StorageFull) {
    let whole = head.count + rest.count
    var written = 0
    while written < whole {
      let count = head.withUnsafeBytes { head in
        rest.withUnsafeBytes { rest in
          let first = UnsafeMutableRawBufferPointer(
            mutating: .init(rebasing: head.dropFirst(written)))
          let second = UnsafeMutableRawBufferPointer(
            mutating: .init(rebasing: rest.dropFirst(max(0, written - head.count))))
          let parts = [
            iovec(iov_base: first.baseAddress, iov_len: first.count),
            iovec(iov_base: second.baseAddress, iov_len: second.count),
          ]
          return pwritev(descriptor, parts, 2, place + written)
        }
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let reason = Self.reason(path())
        ftruncate(descriptor, place)
        throw StorageFull(reason)
      }
      written += count
    }
    guard !syncs || fdatasync(descriptor) == 0 else { throw StorageFull(Self.reason(path())) }
  }

  private static func reason(_ path: String) -> String {
    "\(SystemError.last("cannot write \(path)"))"
  }

  public func read(_ range: StoredRange, into output: inout [UInt8]) {
    guard let file = file(range.segment) else { return }
    let end = min(range.range.upperBound, file.size)
    guard range.range.lowerBound < end else { return }
    let (start, before) = (range.range.lowerBound, output.count)
    output += [UInt8](repeating: 0, count: end - start)
    var done = 0
    while done < end - start {
      let count = output.withUnsafeMutableBytes { buffer in
        pread(
          file.descriptor, buffer.baseAddress! + before + done, end - start - done, start + done)
      }
      if count < 0, errno == EINTR { continue }
      // Unreadable bytes stay zero: the consumer finds the batch corrupt and fetches again.
      guard count > 0 else { return }
      done += count
    }
  }

  public func remove(_ segment: SegmentID) {
    open[segment] = nil
    unlink(path(segment))
  }

  // MARK: Journal

  public func note(_ entry: [UInt8]) throws(StorageFull) {
    let frame = Self.frame(entry)
    try write(frame, [], to: journal, at: journalSize) { folder + "/journal" }
    journalSize += frame.count
  }

  /// Returns the length and checksum, four bytes each, followed by the entry.
  private static func frame(_ entry: [UInt8]) -> [UInt8] {
    var writer = MessageWriter()
    writer.int(Int64(entry.count), 4)
    writer.int(Int64(Checksum.best(entry[...])), 4)
    return writer.bytes + entry
  }

  /// Whether the journal should be rewritten.
  public var isJournalLong: Bool { journalSize > journalLimit }

  /// Replaces the journal with these entries.
  public func rewriteJournal(_ entries: [[UInt8]]) throws(SystemError) {
    let bytes = entries.flatMap(Self.frame)
    let path = folder + "/journal"
    try File.write(path, bytes, mode: 0o600)
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError.last("cannot open \(path)") }
    if journal >= 0 { close(journal) }
    journal = descriptor
    journalSize = bytes.count
    journalLimit = max(Self.journalRoom, 2 * bytes.count)
  }

  // MARK: Recovery

  /// Restores what an earlier process has left, into an empty node. A torn end of a log is truncated: it was not
  /// acknowledged.
  public func restore(_ node: inout Node, at now: Moment) throws(SystemError) {
    let path = folder + "/journal"
    let bytes = File.exists(path) ? try File.read(path, limit: Int.max) : []
    var rest = bytes[...]
    while let entry = Self.entry(rest), node.restore(entry) {
      rest = rest.dropFirst(8 + entry.count)
    }
    // Only the last entry can be torn: whole ones behind it mean that it is damaged, or of a newer version.
    if rest.indices.contains(where: { Self.entry(rest[$0...]) != nil }) {
      throw Self.unreadable(path, at: rest.startIndex)
    }
    // Every journal has entries: a missing or empty one was lost, and no topic of the segments is known.
    let isWhole = rest.isEmpty && !bytes.isEmpty
    try restoreSegments(&node, now, torn: isWhole ? nil : rest.startIndex)
    try rewriteJournal(node.journal)
  }

  /// The first entry, if it is whole and has its checksum.
  private static func entry(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var reader = MessageReader(bytes.prefix(8))
    guard let size = try? reader.int(4), let sum = try? reader.int(4), size > 0,
      size <= bytes.count - 8
    else { return nil }
    let entry = bytes.dropFirst(8).prefix(Int(size))
    return UInt32(truncatingIfNeeded: sum) == Checksum.best(entry) ? entry : nil
  }

  private static func unreadable(_ path: String, at place: Int) -> SystemError {
    SystemError(
      code: EBADMSG, attempt: "cannot read \(path) from byte \(place) on",
      remedy: "what follows would be lost: restore the file from a copy, or use another folder")
  }

  /// - Parameter torn: The byte from which the journal cannot be read: segments of unknown topics may be somebody's then.
  private func restoreSegments(_ node: inout Node, _ now: Moment, torn: Int?) throws(SystemError) {
    let known = Set(node.logs)
    let all = File.names(in: folder).compactMap(Self.segment)
    let unknown = all.filter { !known.contains($0.log) }
    if let torn, !unknown.isEmpty { throw Self.unreadable(folder + "/journal", at: torn) }
    for segment in unknown { remove(segment) }
    let found = Dictionary(grouping: all.filter { known.contains($0.log) }) { $0.log }
    for segments in found.values {
      let sorted = segments.sorted { ($0.base, $0.revision) < ($1.base, $1.revision) }
      var last: SegmentID?
      for segment in sorted {
        // Compaction had not finished writing the newer one.
        if segment.base == last?.base {
          remove(segment)
          continue
        }
        last = segment
        let headers = headers(segment, isLast: segment.base == sorted.last?.base)
        if headers.isEmpty {
          // Its offsets before the base were given, though compaction may have removed the records.
          do throws(StorageFull) {
            try node.fill(segment.log, to: segment.base, at: now, self)
          } catch {
            throw SystemError(code: ENOSPC, attempt: error.reason)
          }
          remove(segment)
        } else {
          node.restore(segment, headers, at: now)
        }
      }
    }
  }

  /// The batches of a segment; in the last one, which may be torn, the checksums are verified.
  private func headers(_ segment: SegmentID, isLast: Bool) -> [BatchHeader] {
    guard let file = file(segment) else { return [] }
    var headers: [BatchHeader] = []
    var place = 0
    while place < file.size {
      var bytes: [UInt8] = []
      read(.init(segment: segment, range: place..<place + BatchHeader.size), into: &bytes)
      guard let header = BatchHeader(bytes[...]), place + header.size <= file.size else { break }
      if isLast {
        bytes = []
        read(.init(segment: segment, range: place..<place + header.size), into: &bytes)
        guard header.isIntact(bytes[...], by: Checksum.best) else { break }
      }
      headers.append(header)
      place += header.size
    }
    if place < file.size {
      ftruncate(file.descriptor, place)
      file.size = place
    }
    return headers
  }
}
