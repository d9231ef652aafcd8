// SPDX-License-Identifier: Apache-2.0

internal import Contract
internal import Glibc

/// A cache of record beginnings and their parsed fields: the last one, and those of some thousand apps in a table
/// hashed by the beginning.
struct EnvelopeBeginnings: ~Copyable {
  struct Beginning {
    /// The length of the beginning, whose bytes follow.
    let count: Int
    /// The parsed fields.
    let routing: Envelope
  }

  /// The longest beginning that is kept.
  static let longest = 256
  /// The number of pairs of slots; a beginning is in either slot of its pair.
  private static let pairs = 2_048
  /// The number of fields in a beginning: version, lane, environment, app, topic and push type.
  private static let fields = 6
  private static let tab: Int32 = 0x09

  /// Each slot is a `Beginning` followed by its bytes, allocated on first use.
  private let places: UnsafeMutablePointer<UnsafeMutablePointer<Beginning>?>
  private var last: UnsafeMutablePointer<Beginning>?
  private var serial: UInt32 = 0

  init() {
    places = .allocate(capacity: 2 * Self.pairs)
    places.initialize(repeating: nil, count: 2 * Self.pairs)
  }

  deinit {
    for index in 0..<2 * Self.pairs { places[index]?.deallocate() }
    places.deallocate()
  }

  /// The known beginning of a record; nil if there is none.
  @inline(__always)
  mutating func find(_ record: UnsafeRawBufferPointer) -> UnsafePointer<Beginning>? {
    guard let start = record.baseAddress else { return nil }
    if let last, Self.matches(last, start, record.count) { return UnsafePointer(last) }
    return findOther(start, record.count)
  }

  private mutating func findOther(
    _ start: UnsafeRawPointer, _ count: Int
  ) -> UnsafePointer<Beginning>? {
    guard let pair = Self.pair(start, count) else { return nil }
    for place in pair..<pair + 2 {
      guard let known = places[place] else { return nil }
      guard Self.matches(known, start, count) else { continue }
      last = known
      return UnsafePointer(known)
    }
    return nil
  }

  /// Keeps a beginning; if both of its slots are taken, it replaces one of them.
  mutating func keep(_ beginning: UnsafeRawBufferPointer, _ routing: Envelope) {
    guard beginning.count <= Self.longest, let start = beginning.baseAddress,
      let pair = Self.pair(start, beginning.count)
    else { return }
    // The most recently used one is kept.
    let isFirst = places[pair] == nil || (places[pair] != last && places[pair + 1] != nil)
    let place = isFirst ? pair : pair + 1
    let kept = places[place] ?? Self.allocate()
    var routing = routing
    serial &+= 1
    routing.beginning = serial
    kept.initialize(to: Beginning(count: beginning.count, routing: routing))
    Self.bytes(kept).copyMemory(from: start, byteCount: beginning.count)
    places[place] = kept
    last = kept
  }

  private static func allocate() -> UnsafeMutablePointer<Beginning> {
    UnsafeMutableRawPointer.allocate(
      byteCount: MemoryLayout<Beginning>.stride + longest,
      alignment: MemoryLayout<Beginning>.alignment
    ).bindMemory(to: Beginning.self, capacity: 1)
  }

  @inline(__always)
  private static func bytes(_ kept: UnsafeMutablePointer<Beginning>) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(kept + 1)
  }

  @inline(__always)
  private static func matches(
    _ kept: UnsafeMutablePointer<Beginning>, _ start: UnsafeRawPointer, _ count: Int
  ) -> Bool {
    count > kept.pointee.count && memcmp(start, bytes(kept), kept.pointee.count) == 0
  }

  /// The first slot of a beginning's pair; nil if its fields are too long.
  private static func pair(_ start: UnsafeRawPointer, _ count: Int) -> Int? {
    let end = start + min(count, longest)
    var position = start
    for _ in 0..<fields {
      guard let found = memchr(position, tab, end - position) else { return nil }
      position = UnsafeRawPointer(found) + 1
    }
    var hash: UInt64 = 0
    var word = start
    // The last word overlaps the previous one. Six fields and their tabs may be shorter than a word.
    while word + 8 <= position {
      hash = (hash ^ word.loadUnaligned(as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
      word += 8
    }
    if position - start >= 8 {
      hash = (hash ^ (position - 8).loadUnaligned(as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
    }
    return 2 * Int(truncatingIfNeeded: hash >> 40 & UInt64(pairs - 1))
  }
}
