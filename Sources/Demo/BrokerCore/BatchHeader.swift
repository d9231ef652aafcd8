// SPDX-License-Identifier: Apache-2.0

/// The header of a record batch of format 2, the only format that the broker stores:
///
///     0 base offset  8 length of what follows  12 leader epoch  16 magic  17 CRC of all that follows  21 attributes
///     23 last offset delta  27 first timestamp  35 newest timestamp  43 producer id  51 epoch  53 base sequence
///     57 count of records  61 records
public struct BatchHeader: Equatable, Sendable {
  public static let size = 61

  /// The compression codecs by their number in the attributes.
  public enum Codec: Int16, Sendable { case none, gzip, snappy, lz4, zstd }

  public var baseOffset: Int64
  /// The size of the whole batch in bytes.
  public var size: Int
  public var leaderEpoch: Int32
  public var magic: UInt8
  public var checksum: UInt32
  public var attributes: Int16
  public var lastDelta: Int32
  public var firstTime: Int64
  public var newestTime: Int64
  public var producer: Int64
  public var epoch: Int16
  public var sequence: Int32
  public var count: Int32

  public var lastOffset: Int64 { baseOffset + Int64(lastDelta) }
  public var nextOffset: Int64 { lastOffset + 1 }
  public var codec: Codec? { Codec(rawValue: attributes & 7) }
  public var isTransactional: Bool { attributes & 0x10 != 0 }
  public var isControl: Bool { attributes & 0x20 != 0 }
  /// The sequence number of the last record; numbers wrap to zero after the largest.
  public var lastSequence: Int32 { (sequence &+ lastDelta) & .max }

  /// Returns nil if there are too few bytes, or the length is invalid.
  public init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.size else { return nil }
    func number<N: FixedWidthInteger>(_ place: Int, _: N.Type) -> N {
      var value: N = 0
      let start = bytes.startIndex + place
      for byte in bytes[start..<start + N.bitWidth / 8] { value = value << 8 | N(byte) }
      return value
    }
    baseOffset = Int64(bitPattern: number(0, UInt64.self))
    size = Int(Int32(bitPattern: number(8, UInt32.self))) + 12
    leaderEpoch = Int32(bitPattern: number(12, UInt32.self))
    magic = bytes[bytes.startIndex + 16]
    checksum = number(17, UInt32.self)
    attributes = Int16(bitPattern: number(21, UInt16.self))
    lastDelta = Int32(bitPattern: number(23, UInt32.self))
    firstTime = Int64(bitPattern: number(27, UInt64.self))
    newestTime = Int64(bitPattern: number(35, UInt64.self))
    producer = Int64(bitPattern: number(43, UInt64.self))
    epoch = Int16(bitPattern: number(51, UInt16.self))
    sequence = Int32(bitPattern: number(53, UInt32.self))
    count = Int32(bitPattern: number(57, UInt32.self))
    guard size >= Self.size || magic < 2 else { return nil }
  }

  /// Whether the whole batch is present and its checksum is correct.
  public func isIntact(
    _ bytes: ArraySlice<UInt8>, by checksum: (ArraySlice<UInt8>) -> UInt32
  ) -> Bool {
    size >= Self.size && bytes.count >= size
      && checksum(bytes.dropFirst(21).prefix(size - 21)) == self.checksum
  }

  /// Writes the fields that the broker sets, which the checksum does not cover.
  public static func place(_ batch: inout [UInt8], offset: Int64, leaderEpoch: Int32) {
    batch.put(offset, 8, at: 0)
    batch.put(Int64(leaderEpoch), 4, at: 12)
  }

  /// Sets the broker's time, and updates the checksum.
  public static func stamp(_ batch: inout [UInt8], time: Int64) {
    batch[22] |= 0x08
    batch.put(time, 8, at: 35)
    seal(&batch)
  }

  /// Returns the batch with another newest time and an updated checksum.
  static func with(newestTime: Int64, _ batch: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var batch = Array(batch)
    batch.put(newestTime, 8, at: 35)
    seal(&batch)
    return batch[...]
  }

  /// Writes length and checksum.
  public static func seal(_ batch: inout [UInt8]) {
    batch.put(Int64(batch.count - 12), 4, at: 8)
    batch.put(Int64(CRC32C.checksum(batch[21...])), 4, at: 17)
  }
}

extension [UInt8] {
  /// Writes the low bytes of a number in network byte order.
  mutating func put(_ value: Int64, _ size: Int, at place: Int) {
    for index in 0..<size {
      self[place + index] = UInt8(truncatingIfNeeded: value >> Int64((size - 1 - index) * 8))
    }
  }
}
