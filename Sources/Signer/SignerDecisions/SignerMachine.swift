// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Which records a signer writes for its credentials, and when: what it mints, publishes again and withdraws. Only the
/// signer that owns the requests writes, once it has read the topic to its end, and not right after its process stood
/// still or Kafka took no record.
///
/// Credentials are known by their ids, and by their places in the list; tokens by their stamps. What a token is made of
/// is its owner's. Times are monotonic milliseconds; `wall` is in seconds since the epoch.
public struct SignerMachine: Sendable {
  /// A turn that comes so much later than the one before may have cost the membership without our knowing yet.
  static let suspiciousPause: UInt64 = 2_000
  /// Nothing is written for so long after such a pause.
  static let settling: UInt64 = 3_000
  /// Nothing is written for so long after a record that was not taken.
  static let retryInterval: UInt64 = 5_000
  /// How long a credential that is gone from the list waits for its successor's token.
  static let withdrawalPatience: UInt64 = 30_000

  private struct Entry {
    var id: String
    var apps: [String]
    var schedule = MintSchedule()
    /// On its way to the topic: nothing is written for it before the answer.
    var isPending = false
    /// Nothing is written for it before.
    var heldUntil: UInt64 = 0
  }

  private var entries: [Entry] = []
  private var places: [String: Int] = [:]
  /// Credentials that have left the list since the topic was read: APNs' 20 minutes between two tokens hold for one that
  /// comes back, too.
  private var departed: [String: Entry] = [:]
  /// Credentials that have a record on the topic and are not in the list.
  private var unlisted: Set<String> = []
  /// Whether this signer is the one that writes.
  public private(set) var isOwner = false
  private var notBefore: UInt64 = 0
  private var withdrawBy: UInt64 = 0
  private var lastTurn: UInt64?

  public init() {}

  // MARK: The group and the list

  /// This signer is the one that writes from now on: it reads the topic again.
  public mutating func begin(now: UInt64) {
    isOwner = true
    withdrawBy = now + Self.withdrawalPatience
    startOver()
  }

  /// It is so no more.
  public mutating func stop() { isOwner = false }

  /// Forgets what the topic said: it is read again. What is on its way stays pending.
  public mutating func startOver() {
    (unlisted, departed) = ([], [:])
    for place in entries.indices { entries[place].schedule = MintSchedule() }
  }

  /// The topic is read again from its start, for it is not what it was: what was minted is published again unless it
  /// turns out to be there.
  public mutating func restart() {
    for place in entries.indices { entries[place].schedule.restart() }
    for id in departed.keys { departed[id]?.schedule.restart() }
  }

  /// Takes a new list; credentials that stay or come back keep their schedules.
  ///
  /// - Returns: ids that are gone.
  public mutating func replace(_ list: [(id: String, apps: [String])], now: UInt64) -> [String] {
    let old = entries
    let oldPlaces = places
    (entries, places) = ([], [:])
    for (id, apps) in list {
      var entry =
        oldPlaces[id].map { old[$0] } ?? departed.removeValue(forKey: id)
        ?? Entry(id: id, apps: apps)
      if entry.apps != apps {
        entry.schedule.outdate()
        entry.heldUntil = 0
      }
      entry.apps = apps
      places[id] = entries.count
      entries.append(entry)
      unlisted.remove(id)
    }
    for entry in old where places[entry.id] == nil { departed[entry.id] = entry }
    let gone = old.map(\.id).filter { places[$0] == nil }
    unlisted.formUnion(gone)
    withdrawBy = now + Self.withdrawalPatience
    return gone
  }

  /// Forgets a credential that has left the list: the next one of this id has another key.
  public mutating func forgetDeparted(_ id: String) { departed[id] = nil }

  private mutating func change(_ id: String, _ body: (inout Entry) -> Void) {
    if let place = places[id] {
      body(&entries[place])
    } else if var entry = departed[id] {
      body(&entry)
      departed[id] = entry
    }
  }

  /// The place of a listed credential.
  public func place(of id: String) -> Int? { places[id] }

  // MARK: What the topic says

  /// A record of a credential.
  ///
  /// - Returns: whether the credential is listed; otherwise it has to be withdrawn.
  @discardableResult
  public mutating func read(
    _ found: MintSchedule.Found, of id: String, at offset: Int64, in partition: Int32 = 0
  ) -> Bool {
    change(id) { $0.schedule.read(found, at: offset, in: partition) }
    guard places[id] == nil else { return true }
    unlisted.insert(id)
    return false
  }

  /// Senders have forgotten the credential: a signer has withdrawn it, or it is none that they could know.
  public mutating func forgotten(_ id: String, at offset: Int64, in partition: Int32 = 0) {
    unlisted.remove(id)
    removed(id, at: offset, in: partition)
  }

  /// A tombstone. Whoever wrote it, senders still know the credential and wait for its token: one that is not listed
  /// has yet to be withdrawn.
  public mutating func removed(_ id: String, at offset: Int64, in partition: Int32 = 0) {
    change(id) { $0.schedule.read(.removed, at: offset, in: partition) }
  }

  /// A sender asks for a token.
  ///
  /// - Parameter time: when it asked, in seconds since the epoch.
  public mutating func requested(
    _ request: MintSchedule.Request, of place: Int, at time: Int64, wall: Int64
  ) {
    // What was asked before the current token was minted is answered by it.
    if time < entries[place].schedule.issuedAt(now: wall) ?? .min { return }
    entries[place].schedule.requested(request, now: wall)
  }

  // MARK: What has to be done

  /// Notes a turn; to be called at the beginning of each.
  public mutating func beginTurn(now: UInt64) {
    if let lastTurn, now - lastTurn > Self.suspiciousPause {
      notBefore = max(notBefore, now + Self.settling)
    }
    lastTurn = now
  }

  /// Whether anything may be written now.
  ///
  /// - Parameter isRead: the topic was read to the end that it had when this signer became the owner.
  public func mayWrite(isRead: Bool, now: UInt64) -> Bool { isOwner && isRead && now >= notBefore }

  /// The credentials that have a token, and when the newest was issued.
  public func newest(wall: Int64) -> [(credential: String, issuedAt: Int64)] {
    entries.compactMap { entry in entry.schedule.issuedAt(now: wall).map { (entry.id, $0) } }
  }

  /// The places of the credentials.
  public var indices: Range<Int> { entries.indices }

  /// Whether a credential's record could not be handed over shortly before.
  public func isHeld(_ place: Int, now: UInt64) -> Bool { now < entries[place].heldUntil }

  /// A credential's record could not be handed over: nothing is written for it for a while. The others go on.
  public mutating func hold(_ place: Int, now: UInt64) {
    entries[place].heldUntil = now + Self.retryInterval
  }

  /// What is to be written for a credential; nil for nothing. It is pending from then on, until `answered`.
  ///
  /// - Returns: `clears`: a tombstone goes first, since what senders know now must not be compared with this.
  public mutating func work(_ place: Int, wall: Int64) -> (step: MintSchedule.Step, clears: Bool)? {
    guard !entries[place].isPending, let step = entries[place].schedule.step(now: wall) else {
      return nil
    }
    entries[place].isPending = true
    return (step, entries[place].schedule.mustClear)
  }

  /// The topic has the token, with these apps.
  ///
  /// - Parameter offset: where it stands; nil if the broker did not say.
  public mutating func published(
    _ stamp: ProviderTokenStamp, apps: [String], of id: String, at offset: Int64?,
    in partition: Int32 = 0
  ) {
    change(id) { entry in
      entry.isPending = false
      entry.schedule.published(stamp, at: offset, in: partition)
      if apps != entry.apps { entry.schedule.outdate() }
    }
  }

  /// Nothing is on its way for the credential any more.
  public mutating func notPublished(_ id: String) { change(id) { $0.isPending = false } }

  /// A record was not taken: nothing is written for a while.
  public mutating func failed(now: UInt64) { notBefore = max(notBefore, now + Self.retryInterval) }

  // MARK: Withdrawals

  /// Whether there are credentials to take off the topic.
  public var hasUnlisted: Bool { !unlisted.isEmpty }

  /// Whether every token that is due is on the topic.
  public func isSettled(wall: Int64) -> Bool {
    entries.allSatisfy { !$0.isPending && $0.schedule.step(now: wall) == nil }
  }

  /// Credentials to withdraw now: once all that are listed have their tokens, so that a sender always knows one that it
  /// may use, or when that takes too long. They are handed out once; `notWithdrawn` puts one back.
  public mutating func drainUnlisted(wall: Int64, now: UInt64) -> Set<String> {
    guard hasUnlisted, isSettled(wall: wall) || now >= withdrawBy else { return [] }
    defer { unlisted = [] }
    return unlisted
  }

  /// Kafka did not take a tombstone.
  public mutating func notWithdrawn(_ id: String) {
    if places[id] == nil { unlisted.insert(id) }
  }
}
