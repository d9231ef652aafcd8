// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import Records
import SignerDecisions

/// The signer's credentials with their keys and tokens: what a record of the topic is, and the records that
/// `SignerMachine` wants written. No Kafka, no clock.
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

  /// Tokens of a credential that are kept: as many as its schedule remembers.
  private static let kept = 4
  /// No credential gets here by minting; a record that says so would leave no number for the next one.
  private static let absurdGeneration: Int64 = 1 << 59

  /// What is written when.
  var machine = SignerMachine()
  private var credentials: [Credential] = []
  /// Tokens of each credential that can be published again, the newest last: secrets, as the key is.
  private var records: [String: [ProviderTokenRecord]] = [:]

  init(_ credentials: [Credential]) { _ = replace(credentials, now: 0) }

  /// Forgets what the topic said: it is read again. What is on its way stays pending.
  mutating func startOver() {
    machine.startOver()
    records = [:]
  }

  /// Takes a new list of credentials; those that stay, or come back with their keys, keep their schedules.
  ///
  /// - Parameter now: monotonic milliseconds.
  /// - Returns: ids that are gone.
  mutating func replace(_ credentials: [Credential], now: UInt64) -> [String] {
    for credential in credentials where machine.place(of: credential.id) == nil {
      let known = records[credential.id] ?? []
      if !known.allSatisfy({ credential.minter.hasMinted($0.token, issuedAt: $0.issuedAt) }) {
        records[credential.id] = nil
        machine.forgetDeparted(credential.id)
      }
    }
    self.credentials = credentials
    return machine.replace(credentials.map { ($0.id, $0.apps) }, now: now)
  }

  var coverage: AppCoverage { Credential.coverage(credentials) }

  // MARK: What the topic says

  /// A record of the topic, with its token unless that is sealed and cannot be opened.
  ///
  /// - Parameters:
  ///   - isComplete: it is sealed if this signer seals, and plain otherwise.
  ///   - now: seconds since the epoch.
  mutating func read(
    _ record: ProviderTokenRecord, isComplete: Bool = true, at offset: Int64,
    in partition: Int32 = 0, now: Int64
  ) -> Verdict {
    let (verdict, found) = judge(record, isComplete: isComplete, now: now)
    guard machine.read(found, of: record.credential, at: offset, in: partition) else {
      return .unlisted
    }
    switch verdict {
    case .own, .ofFuture: keep(record)
    case .sealed, .stranger, .unlisted: break
    }
    return verdict
  }

  private func judge(
    _ record: ProviderTokenRecord, isComplete: Bool, now: Int64
  ) -> (Verdict, MintSchedule.Found) {
    guard let place = machine.place(of: record.credential) else { return (.unlisted, .stranger) }
    guard record.sealed == nil else { return (.sealed, .sealed(record.stamp)) }
    let credential = credentials[place]
    guard record.teamID == credential.teamID, record.keyID == credential.keyID,
      record.scope == credential.scope, record.generation < Self.absurdGeneration,
      credential.minter.hasMinted(record.token, issuedAt: record.issuedAt)
    else { return (.stranger, .stranger) }
    let isComplete = isComplete && record.apps == credential.apps
    let isFuture = record.stamp.isFromFuture(now: now * 1_000)
    return (
      isFuture ? .ofFuture(seconds: record.issuedAt - now) : .own,
      .own(record.stamp, isComplete: isComplete)
    )
  }

  /// A record under a key that cannot be read, or that is another credential's.
  mutating func readStranger(
    _ credential: String, at offset: Int64, in partition: Int32 = 0
  ) -> Verdict {
    machine.read(.stranger, of: credential, at: offset, in: partition) ? .stranger : .unlisted
  }

  /// A tombstone of the topic. What is not named as credentials are is known to nobody.
  mutating func removed(_ credential: String, at offset: Int64, in partition: Int32 = 0) {
    if ProviderTokenRecord.isName(credential) {
      machine.removed(credential, at: offset, in: partition)
    } else {
      machine.forgotten(credential, at: offset, in: partition)
    }
  }

  /// A sender's request.
  ///
  /// - Parameter now: seconds since the epoch.
  /// - Returns: false when no credential of ours serves it.
  mutating func requested(_ request: TokenRequest, now: Int64) -> Bool {
    let served: [Int]
    if let id = request.credential {
      served = machine.place(of: id).map { [$0] } ?? []
    } else if let app = request.app, let environment = request.environment {
      served = credentials.indices.filter {
        credentials[$0].serves(app: app, environment: environment)
      }
    } else {
      served = []
    }
    for place in served {
      machine.requested(
        request.reason == TokenRequest.missing ? .missing : .refused, of: place,
        at: request.at / 1_000, wall: now)
    }
    return !served.isEmpty
  }

  /// By how many seconds a sender's clock is ahead, more than is tolerated; nil if it is not: a request may be old when
  /// it is read.
  ///
  /// - Parameter now: milliseconds since the epoch.
  static func secondsAhead(_ request: TokenRequest, now: Int64) -> Int64? {
    let ahead = request.at - now
    return ahead > ProviderTokenStamp.futureTolerance * 1_000 ? ahead / 1_000 : nil
  }

  // MARK: What has to be done

  /// The record of a credential that has to be published at `now` (seconds); signed, if another token is due. It is
  /// pending until `answered`.
  mutating func work(_ place: Int, now: Int64) throws(SigningError) -> Work? {
    guard let work = machine.work(place, wall: now) else { return nil }
    let credential = credentials[place]
    switch work.step {
    case .mint(let stamp):
      let record = ProviderTokenRecord(
        credential: credential.id, teamID: credential.teamID, keyID: credential.keyID,
        scope: credential.scope, apps: credential.apps, issuedAt: stamp.issuedAt,
        generation: Int64(stamp.generation), token: try minted(stamp, credential))
      return Work(record: record, clears: work.clears)
    case .publish(let stamp):
      guard var known = records[credential.id]?.last(where: { $0.issuedAt == stamp.issuedAt })
      else {
        machine.notPublished(credential.id)
        return nil
      }
      known.apps = credential.apps
      known.generation = Int64(stamp.generation)
      return Work(record: known, clears: work.clears)
    }
  }

  private mutating func minted(
    _ stamp: ProviderTokenStamp, _ credential: Credential
  ) throws(SigningError) -> String {
    do throws(SigningError) {
      return try credential.minter.mint(issuedAt: stamp.issuedAt)
    } catch {
      machine.notPublished(credential.id)
      throw error
    }
  }

  /// The topic has the record, or will never take it.
  ///
  /// - Parameter offset: where it stands; nil if the broker did not say.
  mutating func answered(
    _ record: ProviderTokenRecord, isStored: Bool, at offset: Int64? = nil,
    in partition: Int32 = 0
  ) {
    guard isStored else { return machine.notPublished(record.credential) }
    machine.published(
      record.stamp, apps: record.apps, of: record.credential, at: offset, in: partition)
    keep(record)
  }

  private mutating func keep(_ record: ProviderTokenRecord) {
    var kept = records[record.credential] ?? []
    kept.removeAll { $0.issuedAt == record.issuedAt }
    kept.append(record)
    records[record.credential] = kept.suffix(Self.kept)
  }
}

extension ProviderTokenRecord {
  fileprivate var stamp: ProviderTokenStamp {
    ProviderTokenStamp(issuedAt: issuedAt, generation: UInt64(max(0, generation)))
  }
}
