// SPDX-License-Identifier: Apache-2.0

/// A record within a batch; other parts (headers) are only in its bytes.
public struct Record: Equatable, Sendable {
  public var offset: Int64
  public var time: Int64
  /// The key; nil if the record has none.
  public var key: ArraySlice<UInt8>?
  public var isTombstone: Bool
  /// The record as stored in the batch, including its length.
  public var bytes: ArraySlice<UInt8>
}

/// Reads the records of a batch.
public enum Records {
  /// The maximum decompressed size: a batch that exceeds it is treated as unreadable.
  static let mostBytes = 64 << 20

  /// Returns nil if the records are damaged, or compressed with an unsupported codec.
  public static func read(_ batch: ArraySlice<UInt8>, _ header: BatchHeader) -> [Record]? {
    guard batch.count >= header.size, header.count >= 0, let codec = header.codec else {
      return nil
    }
    let body = batch.dropFirst(BatchHeader.size).prefix(header.size - BatchHeader.size)
    let plain: ArraySlice<UInt8>?
    switch codec {
    case .none: plain = body
    case .lz4: plain = LZ4.unfold(body, atMost: mostBytes).map { $0[...] }
    case .snappy: plain = Snappy.unfold(body, atMost: mostBytes).map { $0[...] }
    case .gzip, .zstd: plain = nil
    }
    guard let plain else { return nil }
    return records(plain, header)
  }

  private static func records(_ plain: ArraySlice<UInt8>, _ header: BatchHeader) -> [Record]? {
    var rest = plain
    var records: [Record] = []
    for _ in 0..<header.count {
      let whole = rest
      guard let length = varint(&rest), length >= 0, length <= rest.count else { return nil }
      var body = rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
      guard body.popFirst() != nil, let time = varint(&body), let delta = varint(&body),
        let keyLength = varint(&body), keyLength <= body.count
      else { return nil }
      let key = keyLength < 0 ? nil : body.prefix(Int(keyLength))
      body = body.dropFirst(max(0, Int(keyLength)))
      guard let valueLength = varint(&body), valueLength <= body.count else { return nil }
      let stamped = header.attributes & 0x08 != 0
      records.append(
        .init(
          offset: header.baseOffset &+ delta,
          time: stamped ? header.newestTime : header.firstTime &+ time, key: key,
          isTombstone: valueLength < 0, bytes: whole[whole.startIndex..<rest.startIndex]))
    }
    return rest.isEmpty ? records : nil
  }

  /// Reads a signed variable-length integer.
  static func varint(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
    }
    return nil
  }

  /// A batch without records that takes this many offsets, of no time and no producer.
  static func gap(_ count: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: BatchHeader.size)
    bytes[16] = 2
    bytes.put(Int64(count) - 1, 4, at: 23)
    for (place, size) in [(27, 8), (35, 8), (43, 8), (51, 2), (53, 4)] {
      bytes.put(-1, size, at: place)
    }
    BatchHeader.seal(&bytes)
    return bytes
  }

  /// Returns the batch with only these of its records, uncompressed, and with their newest time unless the broker set it.
  static func batch(_ records: [Record], of batch: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = Array(batch.prefix(BatchHeader.size))
    bytes[22] &= 0xF8
    bytes.put(Int64(records.count), 4, at: 57)
    if bytes[22] & 0x08 == 0, let newest = records.lazy.map(\.time).max() {
      bytes.put(newest, 8, at: 35)
    }
    for record in records { bytes += record.bytes }
    BatchHeader.seal(&bytes)
    return bytes
  }
}
