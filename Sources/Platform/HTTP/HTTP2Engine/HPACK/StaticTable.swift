// SPDX-License-Identifier: Apache-2.0

/// A header field as it stands in a compression table.
struct TableField: Equatable {
  let name: [UInt8]
  let value: [UInt8]
  /// Equal for equal bytes, and different for most others: what is compared first.
  private let nameMark: UInt32
  private let valueMark: UInt32

  init(_ name: [UInt8], _ value: [UInt8]) {
    self.name = name
    self.value = value
    nameMark = Self.mark(name.span)
    valueMark = Self.mark(value.span)
  }

  /// The length of a text, and three of its bytes.
  static func mark(_ bytes: Span<UInt8>) -> UInt32 {
    let count = bytes.count
    guard count > 1 else { return UInt32(count) &<< 24 | (count == 0 ? 0 : UInt32(bytes[0])) }
    return UInt32(truncatingIfNeeded: count) &<< 24 | UInt32(bytes[count / 2]) &<< 16
      | UInt32(bytes[count - 2]) &<< 8 | UInt32(bytes[count - 1])
  }

  /// Compares the entry with this name, and with this value, too.
  @inline(__always)
  func matches(
    _ name: Span<UInt8>, _ value: Span<UInt8>, _ marks: (name: UInt32, value: UInt32)
  ) -> (name: Bool, whole: Bool) {
    guard nameMark == marks.name, name.equals(self.name) else { return (false, false) }
    return (true, valueMark == marks.value && value.equals(self.value))
  }

  /// The size that the field counts for in a table and in a list (RFC 7541 §4.1).
  var size: Int { name.count + value.count + 32 }
}

/// The fields that every connection knows, with the indexes 1…61 (RFC 7541 Appendix A).
enum StaticTable {
  static let count = 61

  /// By index − 1.
  static let fields: [TableField] = texts.map { TableField(Array($0.utf8), Array($1.utf8)) }

  private static let texts: [(String, String)] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
    (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
    ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
    ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
    ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
    ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""),
    ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""),
    ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
    ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
  ]
}
