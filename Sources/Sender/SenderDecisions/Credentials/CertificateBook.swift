// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The sender's client certificates: which one an app's pushes use.
///
/// `resolve` is called for each push, where there are certificates at all, and costs one probe of an
/// open-addressing table. Of several certificates for an app the one that lasts longest is taken, so a
/// renewed one may stand beside the old one. An expired one serves no app.
public struct CertificateBook: Sendable {
  public struct Entry: Sendable, Equatable {
    /// Bundle ids that it is used for.
    public var apps: [String]
    public var scope: ProviderTokenBook.Scope
    /// In seconds since the epoch.
    public var expiresAt: Int64

    public init(apps: [String], scope: ProviderTokenBook.Scope, expiresAt: Int64) {
      self.apps = apps
      self.scope = scope
      self.expiresAt = expiresAt
    }
  }

  public let entries: [Entry]
  public internal(set) var apps = AppTable()
  /// The apps of all certificates, expired ones included.
  private var known = AppTable()
  /// When the last certificate has expired, and when the next one does, in seconds since the epoch.
  private var lastExpiry = Int64.min
  private var nextExpiry = Int64.max

  /// - Parameter now: seconds since the epoch.
  public init(_ entries: [Entry] = [], now: Int64 = 0) {
    self.entries = entries
    for environment in Environment.allCases {
      for (index, entry) in entries.enumerated() where entry.scope.covers(environment) {
        for app in entry.apps { known.insert(app, environment, index) }
      }
    }
    rebuild(now: now)
  }

  public var isEmpty: Bool { entries.isEmpty }

  /// The certificate for an app's pushes, or nil when none serves it.
  ///
  /// - Parameter appHash: `AppHash` of the bundle id.
  public func resolve(appHash: UInt64, environment: Environment) -> Int? {
    let index = apps.find(appHash, environment)
    return index >= 0 ? Int(index) : nil
  }

  /// True if a certificate serves the app, even one that has expired.
  public func knows(appHash: UInt64, environment: Environment) -> Bool {
    known.find(appHash, environment) >= 0
  }

  /// Lets expired certificates give way. To be called every second or so.
  ///
  /// - Parameter now: seconds since the epoch.
  /// - Returns: true when some app may now resolve differently.
  public mutating func refresh(now: Int64) -> Bool {
    // A clock that was set back makes certificates valid again.
    guard now >= nextExpiry || now < lastExpiry else { return false }
    rebuild(now: now)
    return true
  }

  /// Whole days until the first certificate ends that no other replaces, negative afterwards; nil without
  /// certificates.
  ///
  /// - Parameter now: seconds since the epoch.
  public func daysLeft(now: Int64) -> Int? {
    entries.indices.filter { !isReplaced($0) }
      .map { ExpiryReminder.days(from: now, to: entries[$0].expiresAt) }.min()
  }

  /// True if a certificate that lasts longer serves the same apps: its end then concerns nobody.
  public func isReplaced(_ index: Int) -> Bool {
    let entry = entries[index]
    return entries.contains {
      $0.expiresAt > entry.expiresAt && $0.scope == entry.scope && Set($0.apps) == Set(entry.apps)
    }
  }

  private mutating func rebuild(now: Int64) {
    let valid = entries.indices.filter { entries[$0].expiresAt > now }
    lastExpiry = entries.map(\.expiresAt).filter { $0 <= now }.max() ?? .min
    nextExpiry = valid.map { entries[$0].expiresAt }.min() ?? .max
    apps = AppTable()
    let ranked = valid.sorted {
      entries[$0].expiresAt != entries[$1].expiresAt
        ? entries[$0].expiresAt > entries[$1].expiresAt : $0 < $1
    }
    for environment in Environment.allCases {
      for index in ranked where entries[index].scope.covers(environment) {
        for app in entries[index].apps { apps.insert(app, environment, index) }
      }
    }
  }
}
