// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The apps that a credential may not serve: a circuit breaker for each of them.
///
/// APNs answers `InvalidProviderToken` or `Forbidden` also when one app does not belong to an otherwise good
/// credential. Its breaker opens for a moment first, in which an answer to what is under way may still close it, then
/// for a minute, doubling to a quarter of an hour; each time one push finds out. An app is known by the hash of its
/// bundle id. The table is of fixed size, made at the first refusal, and asked only while it holds something.
///
/// Times are milliseconds of a monotonic clock.
public struct RefusedApps: Sendable {
  /// The permission to send a push.
  public enum AppPermit: Sendable, Equatable {
    case now
    /// Its app has to wait, for a short time or because the credential serves no other: held, until
    /// `hasNewAllowance` says that something may have changed.
    case held
    /// Its app has to wait for long, and others of the credential are served: to a retry topic.
    case retryTopic(RetryTier)
  }

  private struct Entry: Sendable {
    /// 0: empty.
    var app: UInt64 = 0
    /// No push of the app before this time.
    var until: UInt64 = 0
    /// Refusals of pushes that were sent to find out.
    var level: UInt8 = 0
    /// One was sent to find out; `until` is when another may be if no answer comes.
    var isProbing = false
  }

  /// Apps that are known at most; the one whose time is over first gives way.
  public static let most = 768
  private static let places = 1_024
  /// The time that the answer to a probe may take before there is another one, in milliseconds.
  private static let probeTime: UInt64 = 10_000
  private static let moment: UInt64 = 1_000
  private static let shortest: UInt64 = 60_000
  private static let longest: UInt64 = 900_000

  private var entries: [Entry] = []
  /// Apps with a breaker that is not closed.
  public private(set) var count = 0

  /// Two apps that APNs has accepted pushes of: enough to say whether it serves another one than a given app.
  private var served: (first: UInt64?, second: UInt64?) = (nil, nil)
  /// When to look again at the pushes held; `.max` while there are none.
  private var nextLook = UInt64.max

  public init() {}

  public var isEmpty: Bool { count == 0 }

  /// True if an app's breaker is not closed. It may be left over of an app that nobody sends to any more.
  public func contains(_ app: UInt64) -> Bool { count > 0 && find(Self.key(app)) != nil }

  // MARK: Pushes of an app

  /// Decides whether a push of the app goes out now. `.now` is given to one push when an app's time is over: it finds
  /// out for the others.
  public mutating func permit(_ app: UInt64, now: UInt64) -> AppPermit {
    let wait = wait(app, now: now)
    guard wait > 0 else { return .now }
    if wait >= UInt64(RetryTier.shortest.delay), servesOther(than: app), !isInDoubt(app) {
      return .retryTopic(.fitting(Int64(wait)))
    }
    nextLook = min(nextLook, now + wait)
    return .held
  }

  /// True if something may have changed for the pushes held, because their time is over or an answer came:
  /// then all of them go back to it, once.
  public mutating func hasNewAllowance(now: UInt64) -> Bool {
    guard now >= nextLook else { return false }
    nextLook = .max
    return true
  }

  private mutating func noteNews() { if nextLook != .max { nextLook = 0 } }

  /// True if APNs has served anything with this credential.
  public var hasServed: Bool { served.first != nil }
  /// True if APNs has served another app with this credential: then a refusal says nothing about the credential.
  public func servesOther(than app: UInt64) -> Bool {
    (served.first ?? app) != app || (served.second ?? app) != app
  }

  /// APNs accepted a push of the app.
  public mutating func accepted(_ app: UInt64) {
    if served.first == nil {
      served.first = app
    } else if served.first != app, served.second == nil {
      served.second = app
    } else {
      return
    }
    noteNews()
  }

  // MARK: Breakers

  /// An address refused a push of the app, and this push finds out at another one. The others wait for that.
  public mutating func doubted(_ app: UInt64, now: UInt64) {
    let app = Self.key(app)
    if entries.isEmpty { entries = Array(repeating: Entry(), count: Self.places) }
    if find(app) == nil { insert(app) }
    guard let place = find(app), entries[place].level == 0 else { return }
    entries[place].isProbing = true
    entries[place].until = now + Self.probeTime
  }

  /// True if pushes find out at other addresses whether the app is refused.
  public func isInDoubt(_ app: UInt64) -> Bool {
    guard count > 0, let place = find(Self.key(app)) else { return false }
    return entries[place].level == 0
  }

  /// APNs refused a push of the app.
  ///
  /// - Parameters:
  ///   - isMomentary: the credential serves other pushes, so the first time is short.
  ///   - random: any 64 random bits.
  /// - Returns: whether that is news; false for a push that was under way when the breaker opened.
  public mutating func refused(
    _ app: UInt64, isMomentary: Bool, now: UInt64, random: UInt64
  ) -> Bool {
    let app = Self.key(app)
    if entries.isEmpty { entries = Array(repeating: Entry(), count: Self.places) }
    if find(app) == nil { insert(app) }
    guard let place = find(app) else { return false }
    if now < entries[place].until, !entries[place].isProbing { return false }
    entries[place].level = min(max(entries[place].level + 1, isMomentary ? 1 : 2), 16)
    entries[place].isProbing = false
    entries[place].until = now + Self.wait(level: entries[place].level, random: random)
    noteNews()
    return true
  }

  /// APNs served a push of the app: its breaker closes.
  public mutating func served(_ app: UInt64) {
    guard count > 0, let place = find(Self.key(app)) else { return }
    remove(place)
    noteNews()
  }

  /// The credential was replaced: every app may try at once.
  public mutating func removeAll() {
    for place in entries.indices { entries[place] = Entry() }
    count = 0
    noteNews()
  }

  /// The time that a push of the app has to wait, in milliseconds; 0 when it may be sent now. The 0 of a breaker whose
  /// time is over is given to one push: it finds out for the others.
  public mutating func wait(_ app: UInt64, now: UInt64) -> UInt64 {
    guard count > 0, let place = find(Self.key(app)) else { return 0 }
    if now < entries[place].until { return entries[place].until - now }
    entries[place].isProbing = true
    entries[place].until = now + Self.probeTime
    return 0
  }

  /// About a second, then a minute, doubling to the longest.
  private static func wait(level: UInt8, random: UInt64) -> UInt64 {
    let full = level == 1 ? moment : min(longest, shortest << UInt64(level - 2))
    return full / 2 + random % (full / 2 + 1)
  }

  // MARK: The table: open addressing, one place after the other

  /// 0 means an empty place.
  private static func key(_ app: UInt64) -> UInt64 { app == 0 ? 1 : app }

  private func home(_ app: UInt64) -> Int {
    Int(truncatingIfNeeded: (app &* 0x9E37_79B9_7F4A_7C15) >> 54)
  }

  private func find(_ app: UInt64) -> Int? {
    var place = home(app)
    while entries[place].app != 0 {
      if entries[place].app == app { return place }
      place = (place + 1) % Self.places
    }
    return nil
  }

  private mutating func insert(_ app: UInt64) {
    if count == Self.most,
      let oldest = entries.indices.filter({ entries[$0].app != 0 })
        .min(by: { entries[$0].until < entries[$1].until })
    {
      remove(oldest)
    }
    put(Entry(app: app))
    count += 1
  }

  private mutating func put(_ entry: Entry) {
    var place = home(entry.app)
    while entries[place].app != 0 { place = (place + 1) % Self.places }
    entries[place] = entry
  }

  /// Empties a place; those behind it that it had pushed on move up.
  private mutating func remove(_ place: Int) {
    entries[place] = Entry()
    count -= 1
    var next = (place + 1) % Self.places
    while entries[next].app != 0 {
      let moved = entries[next]
      entries[next] = Entry()
      put(moved)
      next = (next + 1) % Self.places
    }
  }
}
