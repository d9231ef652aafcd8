// SPDX-License-Identifier: Apache-2.0

/// Checks a run's provider tokens by the rules of senders, which read their records in order: a token with a later
/// `iat` than the last replaces it, one with an earlier `iat` never does, and one in the future is ignored.
///
/// So a signer whose clock was moved may write tokens without effect. Others must be 20 minutes apart.
public struct MintAudit {
  /// The content of a record of a credential.
  public enum Record: Sendable, Equatable {
    /// A token, by its `iat` in seconds since the epoch.
    case token(issuedAt: Int64)
    /// A tombstone, or an unreadable record.
    case nothing
    /// The signer's record that the credential was withdrawn.
    case withdrawn
  }

  /// The interval below which APNs answers token changes of a team with 429, in seconds.
  private static let shortestInterval: Int64 = 20 * 60
  /// The maximum time in the future of a usable token, in seconds.
  private static let tolerance: Int64 = 60
  /// The maximum age of a usable token, in seconds.
  private static let usableAge: Int64 = 55 * 60

  private var used: [String: [Int64]] = [:]
  private var last: [String: Record] = [:]
  /// The time of the audit, in seconds since the epoch.
  private let now: Int64

  public init(now: Int64) { self.now = now }

  /// Reads a record of the topic, in log order.
  public mutating func read(_ credential: String, _ record: Record) {
    if record == .withdrawn {
      last[credential] = nil
      used[credential] = nil
      return
    }
    // A deletion of an unknown credential.
    if record == .nothing, last[credential] == nil { return }
    last[credential] = record
    guard case .token(let issuedAt) = record, issuedAt <= now + Self.tolerance else { return }
    if issuedAt > used[credential]?.last ?? .min { used[credential, default: []].append(issuedAt) }
  }

  /// Credentials that got two tokens within 20 minutes, as text.
  public var hasty: [String] {
    guard !used.isEmpty else { return ["there is no provider token at all"] }
    return used.sorted { $0.key < $1.key }.flatMap { credential, times in
      zip(times, times.dropFirst()).filter { $1 - $0 < Self.shortestInterval }.map {
        "\(credential) got a provider token \($1 - $0) s after the last"
      }
    }
  }

  /// Credentials whose last record is not a usable token.
  public var unusable: [String] {
    last.filter { _, record in
      guard case .token(let issuedAt) = record else { return true }
      return issuedAt > now + Self.tolerance || issuedAt <= now - Self.usableAge
    }.map(\.key).sorted()
  }
}
