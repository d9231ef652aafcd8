// SPDX-License-Identifier: Apache-2.0

/// The sender's provider tokens: the newest of each credential, and which credential serves each app.
///
/// Tokens only move forward (`iat`, then generation). A token whose `iat` is more than a minute ahead is quarantined
/// until its time comes or the next record replaces it, and the last good one stays in use: a clock that was briefly
/// wrong stops nothing. A credential that was withdrawn or has lost its token has no stamp: any next token counts.
///
/// `resolve` is called for each push and costs one probe of an open-addressing table. A record costs time in proportion
/// to its credential's apps: thousands of credentials may arrive at once.
///
/// When several credentials serve an app, all senders that know the same credentials choose the same one: a usable
/// token before none, a named app before `*`, the exact environment before `any`, then the lower id. APNs asks each
/// team to stay with one key.
///
/// Not copyable: a loop uses it for each push, and a copy would retain and release twelve references.
public struct ProviderTokenBook: ~Copyable, Sendable {
  /// The environments that a credential is valid for, as spelled in records and lists.
  public enum Scope: String, Sendable {
    case production
    case sandbox
    case any

    public func covers(_ environment: Environment) -> Bool {
      switch self {
      case .production: environment == .production
      case .sandbox: environment == .sandbox
      case .any: true
      }
    }
  }

  /// One record of the provider tokens' topic.
  public struct Entry: Sendable, Equatable {
    /// The credential's id, as in the record's key.
    public var credential: String
    public var teamID: String
    public var keyID: String
    public var scope: Scope
    /// Bundle ids, or only `*` for all.
    public var apps: [String]
    public var stamp: ProviderTokenStamp
    /// The token itself (a JWT): a secret. Empty when the record has no readable token: the credential is then known,
    /// and its pushes wait.
    public var token: [UInt8]

    public init(
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

  /// A record of the topic about a credential.
  public enum Update: Sendable, Equatable {
    case token(Entry)
    /// The credential was withdrawn: it no longer serves any app.
    case removed(credential: String)
    /// The token is no longer on the topic, but the credential was not withdrawn: it is known, without a token.
    case lost(credential: String)
  }

  /// The effect of a record.
  public enum Change: Sendable, Equatable {
    /// A credential that was unknown or removed. It may have no usable token.
    case added(Int)
    /// A newer token of a known credential. `hasOtherApps`: its apps or environments have changed.
    case renewed(Int, hasOtherApps: Bool)
    case removed(Int)
    /// A known credential that now has no token.
    case lost(Int)
    /// Dated in the future: quarantined.
    case quarantined(Int)
    /// Older than what is known: nothing changed.
    case stale
  }

  /// Credentials by dense index. An index is never reused for another credential.
  public private(set) var entries: [Entry] = []
  private var indexes: [String: Int] = [:]
  private var isRemoved: [Bool] = []
  /// True if the token was usable at the last check.
  public internal(set) var wasUsable: [Bool] = []
  /// The newest records dated in the future.
  private var quarantine: [Int: Entry] = [:]
  public internal(set) var apps = AppTable()
  /// The credentials that serve `*`, and the chosen one per environment; −1 for none.
  private var stars: [Int] = []
  public internal(set) var fallback: InlineArray<2, Int32> = [-1, -1]
  /// Between these two times nothing changes by time alone, in milliseconds since the epoch.
  private var calmFrom = Int64.min
  private var calmUntil = Int64.max

  public init() {}

  /// The credential for an app's pushes, or nil when none is known. Its token may be too old: check `isUsable(_:now:)`.
  ///
  /// - Parameter appHash: `AppHash` of the bundle id.
  public func resolve(appHash: UInt64, environment: Environment) -> Int? {
    let named = apps.find(appHash, environment)
    let star = fallback[Int(environment.rawValue)]
    guard named >= 0 else { return star >= 0 ? Int(star) : nil }
    // A usable `*` is preferred to a named app without a usable token.
    return !wasUsable[Int(named)] && star >= 0 && wasUsable[Int(star)] ? Int(star) : Int(named)
  }

  /// The stamp of the newest token.
  public func stamp(_ index: Int) -> ProviderTokenStamp { entries[index].stamp }

  /// True unless the credential was withdrawn.
  public func isKnown(_ index: Int) -> Bool { !isRemoved[index] }

  /// The credential with this id; nil if unknown or removed.
  public func index(of credential: String) -> Int? {
    indexes[credential].flatMap { isRemoved[$0] ? nil : $0 }
  }

  /// True if the credential's token may be sent at `now` (milliseconds since the epoch).
  public func isUsable(_ index: Int, now: Int64) -> Bool {
    !entries[index].token.isEmpty && entries[index].stamp.isUsable(now: now)
  }

  /// Applies a record of the topic.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public mutating func apply(_ update: Update, now: Int64) -> Change {
    switch update {
    case .token(let entry): apply(entry, now: now)
    case .removed(let credential): remove(credential: credential, now: now)
    case .lost(let credential): lose(credential: credential, now: now)
    }
  }

  /// Applies a token.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public mutating func apply(_ entry: Entry, now: Int64) -> Change {
    let isEarly = !entry.token.isEmpty && entry.stamp.isFromFuture(now: now)
    guard let index = index(of: entry.credential) else {
      let index = add(entry, withToken: !isEarly, now: now)
      guard isEarly else { return .added(index) }
      return setAside(entry, index)
    }
    if isEarly { return setAside(entry, index) }
    quarantine[index] = nil
    let known = entries[index]
    let isNewer =
      known.token.isEmpty || entry.stamp > known.stamp || known.stamp.isFromFuture(now: now)
    // An unreadable token does not replace the known one.
    guard isNewer, known.token.isEmpty || !entry.token.isEmpty else { return .stale }
    let hasOtherApps = entry.apps != known.apps || entry.scope != known.scope
    if hasOtherApps { withdrawClaims(of: index) }
    entries[index] = entry
    if entry.token.isEmpty { entries[index].stamp = .none }
    look(at: index, now: now, mustChoose: hasOtherApps)
    return .renewed(index, hasOtherApps: hasOtherApps)
  }

  /// Removes the credential's token: its pushes wait for the next one.
  public mutating func lose(credential: String, now: Int64) -> Change {
    guard let index = index(of: credential) else { return .stale }
    quarantine[index] = nil
    entries[index].token = []
    entries[index].stamp = .none
    look(at: index, now: now)
    return .lost(index)
  }

  /// Removes the credential with everything known about its tokens.
  public mutating func remove(credential: String, now: Int64) -> Change {
    guard let index = index(of: credential) else { return .stale }
    withdrawClaims(of: index)
    isRemoved[index] = true
    wasUsable[index] = false
    quarantine[index] = nil
    entries[index].apps = []
    entries[index].token = []
    entries[index].stamp = .none
    return .removed(index)
  }

  /// Replaces credentials whose token has expired, and releases quarantined tokens whose time has come. Call it about
  /// once per second; it costs two comparisons when nothing is due.
  ///
  /// - Returns: the credentials whose token has become usable or unusable.
  public mutating func refresh(now: Int64) -> [Int] {
    // A clock that was set back makes tokens young again.
    guard now >= calmUntil || now < calmFrom else { return [] }
    calmFrom = now
    calmUntil = .max
    var changed: [Int] = []
    for (index, entry) in quarantine where !entry.stamp.isFromFuture(now: now) {
      if case .renewed = apply(entry, now: now) { changed.append(index) }
    }
    for index in entries.indices where look(at: index, now: now) && !changed.contains(index) {
      changed.append(index)
    }
    for entry in quarantine.values { wake(at: dueTime(of: entry)) }
    return changed
  }

  // MARK: Choices

  private mutating func add(_ entry: Entry, withToken: Bool, now: Int64) -> Int {
    let index = indexes[entry.credential] ?? entries.count
    if index == entries.count {
      indexes[entry.credential] = index
      entries.append(entry)
      isRemoved.append(false)
      wasUsable.append(false)
    }
    entries[index] = entry
    isRemoved[index] = false
    if !withToken { entries[index].token = [] }
    if entries[index].token.isEmpty { entries[index].stamp = .none }
    look(at: index, now: now, mustChoose: true)
    return index
  }

  private mutating func setAside(_ entry: Entry, _ index: Int) -> Change {
    quarantine[index] = entry
    wake(at: dueTime(of: entry))
    return .quarantined(index)
  }

  private func dueTime(of entry: Entry) -> Int64 {
    (entry.stamp.issuedAt - ProviderTokenStamp.futureTolerance) * 1_000
  }

  private mutating func wake(at time: Int64) { calmUntil = min(calmUntil, time) }

  /// Records whether a token is usable now, and chooses again for its apps if that has changed.
  @discardableResult
  private mutating func look(at index: Int, now: Int64, mustChoose: Bool = false) -> Bool {
    calmFrom = max(calmFrom, now)
    let isUsable = isUsable(index, now: now)
    if isUsable { wake(at: (entries[index].stamp.issuedAt + ProviderTokenStamp.usableAge) * 1_000) }
    let hasChanged = isUsable != wasUsable[index]
    wasUsable[index] = isUsable
    guard hasChanged || mustChoose, !isRemoved[index] else { return hasChanged }
    for app in entries[index].apps {
      if app != "*" {
        choose(apps.claim(app, by: index))
      } else {
        if !stars.contains(index) { stars.append(index) }
        chooseFallback()
      }
    }
    return hasChanged
  }

  private mutating func withdrawClaims(of index: Int) {
    // Exclude it from the choice.
    wasUsable[index] = false
    for app in entries[index].apps where app != "*" {
      if let row = apps.disclaim(app, by: index) { choose(row) }
    }
    guard entries[index].apps.contains("*") else { return }
    stars.removeAll { $0 == index }
    chooseFallback()
  }

  private mutating func choose(_ row: Int) {
    for environment in Environment.allCases {
      let best = best(of: apps.rows[row].claimants.map(Int.init), environment)
      apps.choose(row, environment, best)
    }
  }

  private mutating func chooseFallback() {
    for environment in Environment.allCases {
      fallback[Int(environment.rawValue)] = best(of: stars, environment)
    }
  }

  private func best(of candidates: [Int], _ environment: Environment) -> Int32 {
    var best = -1
    for index in candidates where entries[index].scope.covers(environment) {
      if best < 0 || isBetter(index, best) { best = index }
    }
    return Int32(best)
  }

  private func isBetter(_ left: Int, _ right: Int) -> Bool {
    rank(left) != rank(right)
      ? rank(left) < rank(right) : entries[left].credential < entries[right].credential
  }

  /// Lower is better.
  private func rank(_ index: Int) -> Int {
    (wasUsable[index] ? 0 : 2) + (entries[index].scope == .any ? 1 : 0)
  }
}
