// SPDX-License-Identifier: Apache-2.0
public import Identity

/// The rights of a key of the HTTP API. The key itself is not known here: only its SHA-256.
public struct APIKey: Sendable, Equatable {
  /// The key's holder, for logs and metrics.
  public let name: ExactText
  /// The 32 bytes of SHA-256 over the key.
  public let digest: [UInt8]
  /// Apps that it may send for; `*` means all.
  public let apps: Set<ExactText>
  /// Apps whose device tokens and outcomes it may read; `*` means all.
  public let readable: Set<ExactText>
  /// Items per second; nil means no limit.
  public let rate: Int?
  /// The most bytes of a body that is not NDJSON; nil means the process's own limit.
  public let maxBody: Int?
  /// When it ends, in milliseconds since the epoch; nil: not by time.
  public let expires: Int64?
  /// It may see and change paces: of its apps, and if it may send for all also those of lanes and groups.
  public let paces: Bool
  /// It may start, see and end campaigns of its apps.
  public let campaigns: Bool

  public init(
    name: ExactText, digest: [UInt8], apps: Set<ExactText>, readable: Set<ExactText>, rate: Int?,
    maxBody: Int?, expires: Int64? = nil, paces: Bool = false,
    campaigns: Bool = false
  ) {
    precondition(digest.count == 32, "a digest of SHA-256 has 32 bytes")
    self.name = name
    self.digest = digest
    self.apps = apps
    self.readable = readable
    self.rate = rate
    self.maxBody = maxBody
    self.expires = expires
    self.paces = paces
    self.campaigns = campaigns
  }

  /// Its holder, in records that say who has written them.
  public var actor: String { "key \(name)" }

  /// - Parameter now: milliseconds since the epoch.
  public func isExpired(now: Int64) -> Bool { now >= expires ?? .max }

  /// Whole days until it expires, negative behind that; nil for one that does not.
  public func daysLeft(now: Int64) -> Int? {
    guard let expires else { return nil }
    let (days, rest) = (expires - now).quotientAndRemainder(dividingBy: 86_400_000)
    return Int(rest < 0 ? days - 1 : days)
  }

  public func maySend(for app: String) -> Bool { apps.contains("*") || apps.contains(app.exact) }
  public func mayRead(_ app: String) -> Bool {
    readable.contains("*") || readable.contains(app.exact)
  }
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

/// The difference between two key files, by the keys' names: for the line of the log that says who may do something since
/// when.
public struct KeyChanges: Sendable, Equatable {
  public let added: [String]
  public let removed: [String]
  /// Another secret, other rights or limits.
  public let changed: [String]

  public init(from old: APIKeyTable, to new: APIKeyTable) {
    let (before, after) = (Self.byName(old), Self.byName(new))
    added = after.keys.filter { before[$0] == nil }.sorted().map(\.text)
    removed = before.keys.filter { after[$0] == nil }.sorted().map(\.text)
    changed = after.keys.filter { before[$0] != nil && before[$0] != after[$0] }.sorted()
      .map(\.text)
  }

  private static func byName(_ table: APIKeyTable) -> [ExactText: APIKey] {
    Dictionary(table.keys.map { ($0.name, $0) }) { first, _ in first }
  }
}
