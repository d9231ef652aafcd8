// SPDX-License-Identifier: Apache-2.0

/// What a key of the HTTP API allows. The key itself is not known here: only its SHA-256.
public struct APIKey: Sendable, Equatable {
  /// Who has it, for logs and metrics.
  public let name: String
  /// The 32 bytes of SHA-256 over the key.
  public let digest: [UInt8]
  /// Apps that it may send for; `*` means all.
  public let apps: Set<String>
  /// Apps whose device tokens and outcomes it may read; `*` means all.
  public let readable: Set<String>
  /// Items per second; nil means no limit.
  public let rate: Int?
  /// The most bytes of a body that is not NDJSON; nil means the process's own limit.
  public let maxBody: Int?

  public init(
    name: String, digest: [UInt8], apps: Set<String>, readable: Set<String>, rate: Int?,
    maxBody: Int?
  ) {
    precondition(digest.count == 32, "a digest of SHA-256 has 32 bytes")
    self.name = name
    self.digest = digest
    self.apps = apps
    self.readable = readable
    self.rate = rate
    self.maxBody = maxBody
  }

  public func maySend(for app: String) -> Bool { apps.contains("*") || apps.contains(app) }
  public func mayRead(_ app: String) -> Bool { readable.contains("*") || readable.contains(app) }
}

/// All keys of the HTTP API.
public struct APIKeyTable: Sendable, Equatable {
  public let keys: [APIKey]

  public init(_ keys: [APIKey]) { self.keys = keys }

  /// The index of the key with this digest. Every byte of every key is compared, so that the time tells nothing.
  public func index(ofDigest digest: Span<UInt8>) -> Int? {
    guard digest.count == 32 else { return nil }
    var found: Int?
    for index in keys.indices {
      var difference: UInt8 = 0
      for byte in 0..<32 { difference |= keys[index].digest[byte] ^ digest[byte] }
      if difference == 0 { found = index }
    }
    return found
  }
}
