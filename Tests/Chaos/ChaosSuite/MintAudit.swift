// SPDX-License-Identifier: Apache-2.0

/// Judges the provider tokens of a run by what senders make of their records, which they read in order: a token with a
/// later `iat` than the last replaces it, one with an earlier `iat` never does, and one of the future is put aside.
///
/// So a signer whose clock was moved may leave tokens that count for nothing. Two that count must lie 20 minutes apart.
public struct MintAudit {
  /// The content of a record of a credential.
  public enum Record: Sendable, Equatable {
    /// A token, by its `iat` in seconds since the epoch.
    case token(issuedAt: Int64)
    /// A tombstone, or nothing that can be read.
    case nothing
    /// The signer's word that there is no such credential.
    case withdrawn
  }

  /// APNs answers 429 to teams that change their token more often, in seconds.
  private static let shortestInterval: Int64 = 20 * 60
  /// Nobody uses a token that is further in the future, in seconds.
  private static let tolerance: Int64 = 60
  /// Nobody uses a token that is older, in seconds.
  private static let usableAge: Int64 = 55 * 60

  private var used: [String: [Int64]] = [:]
  private var last: [String: Record] = [:]
  /// When the audit is made, in seconds since the epoch.
  private let now: Int64

  public init(now: Int64) { self.now = now }

  /// Takes a record of the topic in, in the order of the log.
  public mutating func read(_ credential: String, _ record: Record) {
    if record == .withdrawn {
      last[credential] = nil
      used[credential] = nil
      return
    }
    // A record of nobody's that is gone.
    if record == .nothing, last[credential] == nil { return }
    last[credential] = record
    guard case .token(let issuedAt) = record, issuedAt <= now + Self.tolerance else { return }
    if issuedAt > used[credential]?.last ?? .min { used[credential, default: []].append(issuedAt) }
  }

  /// Credentials that got two tokens within 20 minutes, in words.
  public var hasty: [String] {
    guard !used.isEmpty else { return ["there is no provider token at all"] }
    return used.sorted { $0.key < $1.key }.flatMap { credential, times in
      zip(times, times.dropFirst()).filter { $1 - $0 < Self.shortestInterval }.map {
        "\(credential) got a provider token \($1 - $0) s after the last"
      }
    }
  }

  /// Credentials whose last record is no token that may be used now.
  public var unusable: [String] {
    last.filter { _, record in
      guard case .token(let issuedAt) = record else { return true }
      return issuedAt > now + Self.tolerance || issuedAt <= now - Self.usableAge
    }.map(\.key).sorted()
  }
}
