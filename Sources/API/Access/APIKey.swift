// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The rights of an API key, which is only known by its SHA-256.
public struct APIKey: Sendable, Equatable {
  /// The key's holder, for logs and metrics.
  public let name: ExactText
  /// The 32 bytes of SHA-256 over the key.
  public let digest: [UInt8]
  /// The apps that it may send for; `*` means all.
  public let apps: Set<ExactText>
  /// The apps whose device tokens and outcomes it may read; `*` means all.
  public let readable: Set<ExactText>
  /// Items per second; nil means no limit.
  public let rate: Int?
  /// The most bytes of a body that is not NDJSON; nil means the process's own limit.
  public let maxBody: Int?
  /// When it expires, in milliseconds since the epoch; nil for never.
  public let expires: Int64?
  /// Whether it may see and change paces: those of its apps, and with all apps also those of lanes and groups.
  public let paces: Bool
  /// Whether it may start, see and end campaigns of its apps.
  public let campaigns: Bool

  public init(
    name: ExactText, digest: [UInt8], apps: Set<ExactText>, readable: Set<ExactText>, rate: Int?,
    maxBody: Int?, expires: Int64? = nil, paces: Bool = false, campaigns: Bool = false
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

  public var actor: String { "key \(name)" }

  /// - Parameter now: milliseconds since the epoch.
  public func isExpired(now: Int64) -> Bool { now >= expires ?? .max }

  /// Whole days until it expires, negative afterwards; nil if it never does.
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

public struct APIKeyTable: Sendable, Equatable {
  public let keys: [APIKey]

  public init(_ keys: [APIKey]) { self.keys = keys }

  /// The index of the key with this digest. Every byte of every key is compared, so that the time reveals nothing.
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

/// The difference between two key files, by key names: for the log of who may do what since when.
public struct KeyChanges: Sendable, Equatable {
  public let added: [String]
  public let removed: [String]
  /// Keys with another secret, other rights or limits.
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
