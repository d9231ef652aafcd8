// SPDX-License-Identifier: Apache-2.0

/// A header field as it stands in a compression table.
struct TableField: Equatable {
  var name: [UInt8]
  var value: [UInt8]

  init(_ name: [UInt8], _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// What the field counts for in a table and in a list (RFC 7541 §4.1).
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
