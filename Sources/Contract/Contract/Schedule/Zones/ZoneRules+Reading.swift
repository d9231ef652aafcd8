// SPDX-License-Identifier: Apache-2.0

extension ZoneRules {
  /// The most bytes of a file.
  public static let longestFile = 1 << 16

  /// The rules in a file of the time zone database: TZif of version 2 or later (RFC 8536).
  ///
  /// nil if it is malformed, or counts leap seconds.
  public init?(_ file: [UInt8]) {
    guard file.count <= Self.longestFile else { return nil }
    var reader = TZifReader(rest: file[...])
    // The 32-bit block comes first; it is not needed.
    guard let first = reader.header(), first.version >= UInt8(ascii: "2"),
      reader.take(first.length(time: 4)) != nil, let header = reader.header(),
      let times = reader.take(header.times * 8), let types = reader.take(header.times),
      let kinds = reader.take(header.types * 6),
      reader.take(header.remainder(time: 8)) != nil, header.leapSeconds == 0,
      (1...256).contains(header.types), let footer = reader.footer()
    else { return nil }
    let offsets = (0..<header.types).map { type in
      Int64(Int32(truncatingIfNeeded: TZifReader.number(kinds.dropFirst(type * 6).prefix(4))))
    }
    guard offsets.allSatisfy({ Self.offsets.contains($0) }) else { return nil }
    var changes: [Change] = []
    for (index, type) in types.enumerated() {
      let at = TZifReader.number(times.dropFirst(index * 8).prefix(8))
      guard Int(type) < offsets.count, abs(at.clamped) <= 1 << 59,
        changes.last.map({ $0.at < at }) ?? true
      else { return nil }
      changes.append(Change(at: at, offset: offsets[Int(type)]))
    }
    firstOffset = offsets[0]
    self.changes = changes
    if footer.isEmpty {
      self.footer = nil
    } else {
      guard let rule = ZoneFooterReader.read(footer) else { return nil }
      self.footer = rule
    }
  }
}

extension Int64 {
  /// The value, limited so that it can be negated without overflow.
  fileprivate var clamped: Int64 { Swift.max(self, -.max) }
}

/// The parts of a TZif file, in order.
private struct TZifReader {
  struct Header {
    let version: UInt8
    /// The counts of UT indicators, standard indicators, leap seconds, changes, types, and bytes of names.
    let counts: [Int]

    var leapSeconds: Int { counts[2] }
    var times: Int { counts[3] }
    var types: Int { counts[4] }

    /// The length of its block, with times of this many bytes.
    func length(time: Int) -> Int { times * (time + 1) + types * 6 + remainder(time: time) }
    /// The length of its block after the types.
    func remainder(time: Int) -> Int {
      counts[5] + leapSeconds * (time + 4) + counts[1] + counts[0]
    }
  }

  var rest: ArraySlice<UInt8>

  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func header() -> Header? {
    guard let bytes = take(44), bytes.starts(with: "TZif".utf8) else { return nil }
    let counts = (0..<6).map { Int(Self.number(bytes.dropFirst(20 + $0 * 4).prefix(4))) }
    return Header(version: bytes[bytes.startIndex + 4], counts: counts)
  }

  /// The text between two newlines.
  mutating func footer() -> ArraySlice<UInt8>? {
    guard take(1)?.first == 0x0A else { return nil }
    let text = rest.prefix { $0 != 0x0A }
    return text.count < rest.count ? text : nil
  }

  /// A number of up to 8 bytes, most significant first.
  static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reduce(0) { $0 << 8 | Int64($1) }
  }
}
