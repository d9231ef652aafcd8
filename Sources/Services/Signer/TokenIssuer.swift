// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Records
import Signing

/// The credentials with their schedules, and what the topic says about them: what has to be minted, published again or
/// withdrawn now. No Kafka, no clock.
struct TokenIssuer {
  /// What a record of the topic turned out to be.
  enum Verdict: Equatable {
    /// A token of the credential's own key.
    case own
    /// The same, dated this many seconds into the future.
    case ofFuture(seconds: Int64)
    /// Sealed with a key that is not there.
    case sealed
    /// Not signed by the credential's key, or not for what the record says.
    case stranger
    /// Of a credential that the file does not list.
    case unlisted
  }

  /// A record to publish.
  struct Work: Equatable {
    let record: ProviderTokenRecord
    /// A tombstone goes first: what senders know now must not be compared with this.
    let clears: Bool
  }

  private struct Entry {
    var credential: Credential
    var schedule = MintSchedule()
    /// Minted and on its way to the topic: not minted again before the answer.
    var isPending = false
    /// Tokens that can be published again, the newest last: secrets, as the key is.
    var records: [ProviderTokenRecord] = []
  }

  /// Tokens of a credential that are kept: as many as its schedule remembers.
  private static let kept = 4
  /// No credential gets here by minting; a record that says so would leave no number for the next one.
  private static let absurdGeneration: Int64 = 1 << 59

  private var entries: [Entry] = []
  private var places: [String: Int] = [:]
  /// Credentials that have a record on the topic and are not in the file.
  private var unlisted: Set<String> = []

  init(_ credentials: [Credential]) { _ = replace(credentials) }

  /// Forgets what the topic said: it is read again. What is on its way stays pending.
  mutating func startOver() {
    unlisted = []
    for index in entries.indices {
      entries[index].schedule = MintSchedule()
      entries[index].records = []
    }
  }

  /// Takes a new list of credentials; those that stay keep their schedules.
  ///
  /// - Returns: ids that are gone.
  mutating func replace(_ credentials: [Credential]) -> [String] {
    let old = entries
    let oldPlaces = places
    entries = []
    places = [:]
    for credential in credentials {
      var entry = oldPlaces[credential.id].map { old[$0] } ?? Entry(credential: credential)
      if entry.credential.apps != credential.apps { entry.schedule.outdate() }
      entry.credential = credential
      places[credential.id] = entries.count
      entries.append(entry)
      unlisted.remove(credential.id)
    }
    let gone = old.map(\.credential.id).filter { places[$0] == nil }
    unlisted.formUnion(gone)
    return gone
  }

  /// The apps that the credentials serve.
  var coverage: AppCoverage { Credential.coverage(entries.map(\.credential)) }

  // MARK: What the topic says

  /// A record of the topic, with its token unless that is sealed and cannot be opened.
  ///
  /// - Parameters:
  ///   - isComplete: it is sealed if this signer seals, and plain otherwise.
  ///   - now: seconds since the epoch.
  mutating func read(
    _ record: ProviderTokenRecord, isComplete: Bool = true, at offset: Int64, now: Int64
  ) -> Verdict {
    guard let place = places[record.credential] else {
      unlisted.insert(record.credential)
      return .unlisted
    }
    let credential = entries[place].credential
    let stamp = ProviderTokenStamp(
      issuedAt: record.issuedAt, generation: UInt64(max(0, record.generation)))
    guard record.sealed == nil else {
      entries[place].schedule.read(.sealed(stamp), at: offset)
      return .sealed
    }
    guard record.teamID == credential.teamID, record.keyID == credential.keyID,
      record.scope == credential.scope, record.generation < Self.absurdGeneration,
      credential.minter.hasMinted(record.token, issuedAt: record.issuedAt)
    else {
      entries[place].schedule.read(.stranger, at: offset)
      return .stranger
    }
    let isComplete = isComplete && record.apps == credential.apps
    entries[place].schedule.read(.own(stamp, isComplete: isComplete), at: offset)
    keep(record, place)
    guard stamp.isFromFuture(now: now * 1_000) else { return .own }
    return .ofFuture(seconds: record.issuedAt - now)
  }

  /// A record under a key that cannot be read, or that is another credential's.
  mutating func readStranger(_ credential: String, at offset: Int64) -> Verdict {
    guard let place = places[credential] else {
      unlisted.insert(credential)
      return .unlisted
    }
    entries[place].schedule.read(.stranger, at: offset)
    return .stranger
  }

  /// A signer's word that it has withdrawn a credential: senders forget it.
  mutating func withdrawn(_ credential: String, at offset: Int64) {
    unlisted.remove(credential)
    if let place = places[credential] { entries[place].schedule.read(.removed, at: offset) }
  }

  /// A tombstone of the topic. Whoever wrote it, senders still know the credential and wait for its token: one that
  /// the file does not list has yet to be withdrawn. What is not named as credentials are is known to nobody.
  mutating func removed(_ credential: String, at offset: Int64) {
    if !ProviderTokenRecord.isName(credential) { unlisted.remove(credential) }
    if let place = places[credential] { entries[place].schedule.read(.removed, at: offset) }
  }

  /// A sender's request.
  ///
  /// - Parameter now: seconds since the epoch.
  /// - Returns: false when no credential of ours serves it.
  mutating func requested(_ request: TokenRequest, now: Int64) -> Bool {
    if let id = request.credential {
      guard let place = places[id] else { return false }
      note(request, place, now: now)
      return true
    }
    guard let app = request.app, let environment = request.environment else { return false }
    var isServed = false
    for place in entries.indices
    where entries[place].credential.serves(app: app, environment: environment) {
      isServed = true
      note(request, place, now: now)
    }
    return isServed
  }

  /// By how many seconds a sender's clock is ahead, more than is tolerated; nil if it is not: a request may be old when
  /// it is read.
  ///
  /// - Parameter now: milliseconds since the epoch.
  static func secondsAhead(_ request: TokenRequest, now: Int64) -> Int64? {
    let ahead = request.at - now
    return ahead > ProviderTokenStamp.futureTolerance * 1_000 ? ahead / 1_000 : nil
  }

  private mutating func note(_ request: TokenRequest, _ place: Int, now: Int64) {
    // What was asked before the current token was minted is answered by it.
    if request.at / 1_000 < entries[place].schedule.issuedAt(now: now) ?? .min { return }
    entries[place].schedule.requested(
      request.reason == TokenRequest.missing ? .missing : .refused, now: now)
  }

  // MARK: What has to be done

  /// The places of the credentials, for `work`.
  var indices: Range<Int> { entries.indices }

  /// The credentials that have a token, and when the newest was issued (seconds since the epoch).
  func newest(now: Int64) -> [(credential: String, issuedAt: Int64)] {
    entries.compactMap { entry in
      entry.schedule.issuedAt(now: now).map { (entry.credential.id, $0) }
    }
  }

  /// Whether every token that is due at `now` (seconds) is on the topic.
  func isSettled(now: Int64) -> Bool {
    entries.allSatisfy { !$0.isPending && $0.schedule.step(now: now) == nil }
  }

  /// The record of a credential that has to be published at `now` (seconds); signed, if another token is due. It is
  /// pending until `answered`.
  mutating func work(_ place: Int, now: Int64) throws(SigningError) -> Work? {
    guard !entries[place].isPending, let step = entries[place].schedule.step(now: now) else {
      return nil
    }
    let credential = entries[place].credential
    let record: ProviderTokenRecord
    switch step {
    case .mint(let order):
      record = ProviderTokenRecord(
        credential: credential.id, teamID: credential.teamID, keyID: credential.keyID,
        scope: credential.scope, apps: credential.apps, issuedAt: order.issuedAt,
        generation: Int64(order.generation),
        token: try credential.minter.mint(issuedAt: order.issuedAt))
    case .publish(let stamp):
      guard var known = entries[place].records.last(where: { $0.issuedAt == stamp.issuedAt })
      else { return nil }
      known.apps = credential.apps
      known.generation = Int64(stamp.generation)
      record = known
    }
    entries[place].isPending = true
    return Work(record: record, clears: entries[place].schedule.mustClear)
  }

  /// The topic has the record, or will never take it.
  ///
  /// - Parameter offset: where it stands; nil if the broker did not say.
  mutating func answered(_ record: ProviderTokenRecord, isStored: Bool, at offset: Int64? = nil) {
    guard let place = places[record.credential] else { return }
    entries[place].isPending = false
    guard isStored else { return }
    entries[place].schedule.published(
      ProviderTokenStamp(issuedAt: record.issuedAt, generation: UInt64(max(0, record.generation))),
      at: offset)
    if record.apps != entries[place].credential.apps { entries[place].schedule.outdate() }
    keep(record, place)
  }

  /// Credentials that have to be taken off the topic. They are handed out once; `notWithdrawn` puts one back.
  mutating func takeUnlisted() -> Set<String> {
    defer { unlisted = [] }
    return unlisted
  }

  /// Whether there are credentials to take off the topic.
  var hasUnlisted: Bool { !unlisted.isEmpty }

  /// Kafka did not take a tombstone.
  mutating func notWithdrawn(_ credential: String) {
    if places[credential] == nil { unlisted.insert(credential) }
  }

  private mutating func keep(_ record: ProviderTokenRecord, _ place: Int) {
    entries[place].records.removeAll { $0.issuedAt == record.issuedAt }
    entries[place].records.append(record)
    if entries[place].records.count > Self.kept { entries[place].records.removeFirst() }
  }
}
