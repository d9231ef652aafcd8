// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The campaigns whose pushes are not sent: paused ones wait, those of one that was cancelled or has stopped itself end.
///
/// A cancellation stays as long as the campaign is remembered, so there may be many: 24 bytes for each, at most `most`. Of
/// more the one that was written first is forgotten; its pushes are most likely too old for their lanes by then.
public struct CampaignHolds: Sendable, Equatable {
  public enum Hold: UInt8, Sendable {
    case paused
    case cancelled
  }

  private struct Entry: Sendable, Equatable {
    let hash: UInt64
    var hold: Hold
    var at: Int64
  }

  /// Campaigns that are remembered.
  public static let most = 10_000

  /// Ascending by hash.
  private var entries: [Entry] = []
  private let most: Int

  public init() { self.init(most: Self.most) }

  init(most: Int) { self.most = most }

  /// Asked for each push.
  public var isEmpty: Bool { entries.isEmpty }

  public func count(_ hold: Hold) -> Int { entries.count { $0.hold == hold } }

  /// What becomes of a campaign's pushes, by its hash; nil: they are sent.
  public subscript(_ hash: UInt64) -> Hold? {
    let place = place(of: hash)
    return place < entries.count && entries[place].hash == hash ? entries[place].hold : nil
  }

  /// Notes what becomes of a campaign's pushes from now on.
  ///
  /// - Parameter at: when that was asked for, in milliseconds since the epoch.
  /// - Returns: false if another campaign was forgotten for it.
  @discardableResult
  public mutating func set(_ campaign: CampaignKey, _ hold: Hold?, at: Int64) -> Bool {
    set(Self.hash(campaign), hold, at: at)
  }

  /// The same by the campaign's hash.
  @discardableResult
  public mutating func set(_ hash: UInt64, _ hold: Hold?, at: Int64) -> Bool {
    let place = place(of: hash)
    let isKnown = place < entries.count && entries[place].hash == hash
    guard let hold else {
      if isKnown { entries.remove(at: place) }
      return true
    }
    if isKnown {
      (entries[place].hold, entries[place].at) = (hold, at)
      return true
    }
    entries.insert(Entry(hash: hash, hold: hold, at: at), at: place)
    guard entries.count > most,
      let first = entries.indices.min(by: { entries[$0].at < entries[$1].at })
    else { return true }
    entries.remove(at: first)
    return false
  }

  /// Where an entry with this hash is, or would be.
  private func place(of hash: UInt64) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].hash < hash { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Hashes

  static func hash(_ campaign: CampaignKey) -> UInt64 {
    hash(
      app: AppHash.of(campaign.app.utf8.span), campaign.environment,
      name: AppHash.of(campaign.name.utf8.span))
  }

  /// The hash by which a campaign is found, never 0.
  ///
  /// - Parameters:
  ///   - app: of the bundle id, as `AppHash` makes it.
  ///   - name: the same of its name.
  public static func hash(app: UInt64, _ environment: Environment, name: UInt64) -> UInt64 {
    ScopedHash.of(app: app, environment, name)
  }
}

/// The hash of what an app has named, as a number that belongs to the app: it comes of Swift's `Hasher`, whose key each
/// process has for itself, so that nobody finds a name whose hash is that of another app's.
enum ScopedHash {
  /// Never 0.
  static func of(app: UInt64, _ environment: Environment, _ name: UInt64) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(app)
    hasher.combine(environment.rawValue)
    hasher.combine(name)
    return UInt64(bitPattern: Int64(hasher.finalize())) | 1
  }
}
