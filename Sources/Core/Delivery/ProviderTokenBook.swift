// SPDX-License-Identifier: Apache-2.0

package import APNS

/// The sender's provider tokens: the newest of each credential, and which credential an app's pushes use.
///
/// Tokens only go forward (`iat`, then generation). `resolve` is called for each push and costs one probe of
/// an open-addressing table over the apps' bytes. The table is rebuilt when a credential comes, goes or loses
/// its last usable token, which is rare.
///
/// When several credentials serve an app, the choice is the same in all senders that know the same
/// credentials: a usable token before none, an app that is named before `*`, the very environment before
/// `any`, then the lower id. Naming one key and leaving it is what APNs asks of a team.
///
/// It cannot be copied: a loop asks it for each push, and a copy would count twelve references up and down.
package struct ProviderTokenBook: ~Copyable, Sendable {
  /// Which environments a credential is good for.
  package enum Scope: UInt8, Sendable, Equatable {
    case production
    case sandbox
    case any

    package func covers(_ environment: Environment) -> Bool {
      switch self {
      case .production: environment == .production
      case .sandbox: environment == .sandbox
      case .any: true
      }
    }
  }

  /// One record of the provider tokens' topic.
  package struct Entry: Sendable, Equatable {
    /// The credential's id, as in the record's key.
    package var credential: String
    package var teamID: String
    package var keyID: String
    package var scope: Scope
    /// Bundle ids, or `*` alone for all.
    package var apps: [String]
    package var stamp: ProviderTokenStamp
    /// The token itself (a JWT): a secret.
    package var token: [UInt8]

    package init(
      credential: String, teamID: String, keyID: String, scope: Scope, apps: [String],
      stamp: ProviderTokenStamp, token: [UInt8]
    ) {
      self.credential = credential
      self.teamID = teamID
      self.keyID = keyID
      self.scope = scope
      self.apps = apps
      self.stamp = stamp
      self.token = token
    }
  }

  /// What a record changed.
  package enum Change: Sendable, Equatable {
    /// A credential that was not known, or was removed before.
    case added(Int)
    /// A newer token of a known credential.
    case renewed(Int)
    case removed(Int)
    /// Older than what is known: nothing changed.
    case stale
  }

  /// Credentials by dense index. An index is never used for another credential.
  package private(set) var entries: [Entry] = []
  private var isRemoved: [Bool] = []
  private var wasUsable: [Bool] = []
  @usableFromInline package internal(set) var apps = AppTable()
  /// The credentials of `*`, by environment; −1 for none.
  @usableFromInline package internal(set) var fallback: InlineArray<2, Int32> = [-1, -1]

  package init() {}

  /// The credential for an app's pushes, or nil when none is known. Its token may be too old to be used: ask
  /// `isUsable(_:now:)`.
  @inlinable package func resolve(app: Span<UInt8>, environment: Environment) -> Int? {
    let named = apps.find(app, environment)
    let index = named >= 0 ? named : fallback[Int(environment.rawValue)]
    return index >= 0 ? Int(index) : nil
  }

  /// The newest token's stamp.
  package func stamp(_ index: Int) -> ProviderTokenStamp { entries[index].stamp }

  /// Whether the credential has not been withdrawn.
  package func isKnown(_ index: Int) -> Bool { !isRemoved[index] }

  /// Whether the credential's token may be sent at `now` (milliseconds since the epoch).
  package func isUsable(_ index: Int, now: Int64) -> Bool {
    !isRemoved[index] && entries[index].stamp.isUsable(now: now)
  }

  /// Takes a record of the topic in.
  ///
  /// - Parameter now: milliseconds since the epoch.
  package mutating func apply(_ entry: Entry, now: Int64) -> Change {
    guard let index = entries.firstIndex(where: { $0.credential == entry.credential }) else {
      entries.append(entry)
      isRemoved.append(false)
      wasUsable.append(false)
      rebuild(now: now)
      return .added(entries.count - 1)
    }
    let known = entries[index].stamp
    let returns = isRemoved[index]
    guard entry.stamp > known || (returns && entry.stamp == known) else { return .stale }
    let changesApps =
      returns || entry.apps != entries[index].apps || entry.scope != entries[index].scope
    entries[index] = entry
    isRemoved[index] = false
    if changesApps || wasUsable[index] != isUsable(index, now: now) { rebuild(now: now) }
    return returns ? .added(index) : .renewed(index)
  }

  /// Takes a tombstone in: the credential is gone. Its last stamp is kept, so that an old token can't return.
  package mutating func remove(credential: String, now: Int64) -> Change {
    guard let index = entries.firstIndex(where: { $0.credential == credential }), !isRemoved[index]
    else { return .stale }
    isRemoved[index] = true
    entries[index].token = []
    rebuild(now: now)
    return .removed(index)
  }

  /// Lets credentials whose token became too old give way to others. To be called every second or so.
  ///
  /// - Returns: true when some app may now resolve to another credential.
  @discardableResult
  package mutating func refresh(now: Int64) -> Bool {
    for index in entries.indices where wasUsable[index] != isUsable(index, now: now) {
      rebuild(now: now)
      return true
    }
    return false
  }

  private mutating func rebuild(now: Int64) {
    for index in entries.indices { wasUsable[index] = isUsable(index, now: now) }
    let order = entries.indices.filter { !isRemoved[$0] }
    apps = AppTable(apps: order.reduce(0) { $0 + entries[$1].apps.count })
    for environment in Environment.allCases {
      let ranked = order.filter { entries[$0].scope.covers(environment) }.sorted { left, right in
        rank(left) != rank(right)
          ? rank(left) < rank(right) : entries[left].credential < entries[right].credential
      }
      // A usable `*` goes before a named app without a usable token: so two passes, best first.
      fallback[Int(environment.rawValue)] = Int32(
        ranked.first { entries[$0].apps.contains("*") } ?? -1)
      for index in ranked {
        for app in entries[index].apps where app != "*" { apps.insert(app, environment, index) }
      }
      apps.prefer(fallback[Int(environment.rawValue)], environment) { candidate, star in
        !wasUsable[candidate] && wasUsable[star]
      }
    }
  }

  /// Lower is better.
  private func rank(_ index: Int) -> Int {
    (wasUsable[index] ? 0 : 2) + (entries[index].scope == .any ? 1 : 0)
  }
}
