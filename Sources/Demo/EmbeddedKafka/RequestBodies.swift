// SPDX-License-Identifier: Apache-2.0

/// The kinds of requests that are read here (Kafka's API keys).
enum RequestKind: Int16 {
  case produce = 0
  case fetch = 1
  case listOffsets = 2
  case metadata = 3
}

/// The body of a request, behind its fixed header.
struct RequestBody {
  private let bytes: UnsafeMutableRawBufferPointer
  private let version: Int16

  init(_ bytes: UnsafeMutableRawBufferPointer, version: Int16) {
    self.bytes = bytes
    self.version = version
  }
}

// MARK: Produce request, versions 0 to 7

extension RequestBody {
  /// True if every partition has room for its batch.
  func isProduceAdmitted(to backlog: inout Backlog) -> Bool {
    var reader = BodyReader(bytes)
    reader.skipString()  // client
    if version >= 3 { reader.skipString() }  // transaction
    reader.skip(2 + 4)  // acknowledgements, time-out
    for _ in 0..<reader.count() {
      let topic = reader.string()
      for _ in 0..<reader.count() {
        let partition = Int(reader.int32())
        let size = max(0, Int(reader.int32()))
        guard backlog.hasRoom(topic, partition, bytes: size) else {
          backlog.noteFull(topic)
          return false
        }
        reader.skip(size)
      }
    }
    return true
  }
}

// MARK: Fetch request, versions 0 to 11

extension RequestBody {
  /// The shortest time between two answers to a reader that keeps up, in milliseconds: what comes meanwhile is in one.
  private static let pace: Int64 = 10

  /// How much longer it has to wait, in milliseconds: until there is something for it, and no longer than it asks for. A
  /// mock cluster would let it wait to the end although a record comes before.
  ///
  /// One that need not wait is made to say so, and to ask for what comes after the newest record of each partition that
  /// is withheld, so for nothing yet.
  ///
  /// - Parameters:
  ///   - waited: how long it has waited so far, in milliseconds.
  ///   - apart: how long ago a request of its connection brought something.
  func adaptFetch(
    to backlog: borrowing Backlog, waited: Int64, apart: Int64
  ) -> (wait: Int32, brings: Bool) {
    var news = Backlog.News.none
    var withheld: [(offset: BodyReader, end: Int64)] = []
    var reader = beforeFetchWait
    let wait = Int64(reader.int32())
    reader.skip(4)  // least bytes
    if version >= 3 { reader.skip(4) }  // most bytes
    if version >= 4 { reader.skip(1) }  // isolation
    if version >= 7 { reader.skip(4 + 4) }  // session and its epoch
    for _ in 0..<reader.count() {
      let topic = reader.string()
      let isWithheld = backlog.isWithheld(topic)
      for _ in 0..<reader.count() {
        let partition = Int(reader.int32())
        if version >= 9 { reader.skip(4) }  // epoch of the leader
        let place = reader
        let offset = reader.int64()
        if isWithheld, let end = backlog.end(topic, partition) {
          withheld.append((place, end))
        } else {
          news = max(news, backlog.news(topic, partition, after: offset))
        }
        if version >= 5 { reader.skip(8) }  // start of the log
        reader.skip(4)  // most bytes of the partition
      }
    }
    let until =
      switch news {
      case .none: wait - waited
      case .newest: min(wait - waited, Self.pace - apart)
      case .more: Int64(0)
      }
    guard until <= 0 else { return (Int32(until), false) }
    beforeFetchWait.replace(Int32(0))
    for (offset, end) in withheld { offset.replace(end) }
    return (0, news > .none)
  }

  private var beforeFetchWait: BodyReader {
    var reader = BodyReader(bytes)
    reader.skipString()  // client
    reader.skip(4)  // replica
    return reader
  }
}

// MARK: ListOffsets request, versions 0 to 5

extension RequestBody {
  /// Makes a request for the first record of a time ask for the first of all: a mock cluster knows no times, and says
  /// that there is none.
  func adaptListOffsets() {
    var reader = BodyReader(bytes)
    reader.skipString()  // client
    reader.skip(version >= 2 ? 4 + 1 : 4)  // replica, isolation
    for _ in 0..<reader.count() {
      reader.skipString()
      for _ in 0..<reader.count() {
        reader.skip(version >= 4 ? 4 + 4 : 4)  // partition, epoch of the leader
        reader.replace(Int64(-2)) { $0 >= 0 }
        reader.skip(version == 0 ? 8 + 4 : 8)  // time, most offsets
      }
    }
  }
}

// MARK: Metadata request, versions 0 to 2

extension RequestBody {
  /// Makes it ask for all topics if it names one that does not exist: a mock cluster would create that.
  func adaptMetadata(to backlog: borrowing Backlog) {
    var reader = BodyReader(bytes)
    reader.skipString()  // client
    let list = reader
    for _ in 0..<reader.count() where !backlog.has(reader.string()) {
      return list.replace(version == 0 ? Int32(0) : -1)
    }
  }
}

/// Reads the fields of a request that may be cut short or hostile: what lies outside of it is zero.
private struct BodyReader {
  private let bytes: UnsafeMutableRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

  mutating func skip(_ count: Int) { position = min(position + count, bytes.count) }

  /// Passes over a string, which may be null.
  mutating func skipString() { skip(max(0, Int(integer(as: Int16.self)))) }

  mutating func string() -> String {
    let count = max(0, Int(integer(as: Int16.self)))
    let start = position
    skip(count)
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  mutating func int32() -> Int32 { integer(as: Int32.self) }
  mutating func int64() -> Int64 { integer(as: Int64.self) }

  /// The length of an array; none where the request has ended.
  mutating func count() -> Int {
    let count = Int(int32())
    return position < bytes.count ? max(0, count) : 0
  }

  /// Writes over the next field if what it holds is to be replaced.
  func replace<T: FixedWidthInteger>(_ value: T, where isReplaced: (T) -> Bool = { _ in true }) {
    guard position + MemoryLayout<T>.size <= bytes.count else { return }
    let old = T(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
    if isReplaced(old) {
      let place = UnsafeMutableRawBufferPointer(rebasing: bytes[position...])
      withUnsafeBytes(of: value.bigEndian) { place.copyMemory(from: $0) }
    }
  }

  private mutating func integer<T: FixedWidthInteger>(as type: T.Type) -> T {
    let size = MemoryLayout<T>.size
    defer { skip(size) }
    guard position + size <= bytes.count else { return 0 }
    return T(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
  }
}
