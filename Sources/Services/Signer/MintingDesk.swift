// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Records
import Signing

/// The credentials with their schedules: what has to be minted now. No Kafka, no clock.
struct MintingDesk {
  private struct Entry {
    var credential: Credential
    var schedule = MintSchedule()
    /// Minted and on its way to the topic: not minted again before the answer.
    var isPending = false
    /// The newest record of the topic: a secret, as the key is.
    var record: ProviderTokenRecord?
  }

  private var entries: [Entry]

  init(_ credentials: [Credential]) {
    entries = credentials.map { Entry(credential: $0) }
  }

  /// Forgets all schedules: what counts now is what the topic says. What is on its way stays pending.
  mutating func startOver() {
    for index in entries.indices {
      entries[index].schedule = MintSchedule()
      entries[index].record = nil
    }
  }

  /// Takes a new list of credentials; those that stay keep their schedules.
  ///
  /// - Returns: ids that are gone.
  mutating func replace(_ credentials: [Credential]) -> [String] {
    let old = entries
    entries = credentials.map { credential in
      var entry = old.first { $0.credential.id == credential.id } ?? Entry(credential: credential)
      entry.credential = credential
      return entry
    }
    return old.map(\.credential.id).filter { id in
      !credentials.contains { $0.id == id }
    }
  }

  /// A token seen on the topic, or acknowledged there.
  mutating func published(_ record: ProviderTokenRecord) {
    guard let index = index(record.credential) else { return }
    entries[index].schedule.published(
      issuedAt: record.issuedAt, generation: UInt64(max(0, record.generation)))
    if record.generation >= entries[index].record?.generation ?? .min {
      // One whose token is sealed with another key cannot be published again.
      entries[index].record = record.sealed == nil ? record : nil
    }
  }

  /// Whether every token that is due at `now` (seconds) is on the topic.
  func isSettled(now: Int64) -> Bool {
    due(now: now) == nil && !entries.contains { $0.isPending }
  }

  /// The current token of a credential whose apps are others than on the topic, to be published with its own:
  /// the same token under the next generation. It is pending until `answered`.
  mutating func changedApps() -> ProviderTokenRecord? {
    for index in entries.indices where !entries[index].isPending {
      guard var record = entries[index].record, record.apps != entries[index].credential.apps
      else { continue }
      record.apps = entries[index].credential.apps
      record.generation = Int64(entries[index].schedule.generation) + 1
      entries[index].isPending = true
      return record
    }
    return nil
  }

  /// A sender's request.
  ///
  /// - Returns: false when no credential of ours serves it.
  mutating func requested(_ request: TokenRequest) -> Bool {
    var isServed = false
    for index in entries.indices {
      let credential = entries[index].credential
      if let id = request.credential {
        guard id == credential.id else { continue }
      } else {
        guard let app = request.app, let environment = request.environment,
          credential.serves(app: app, environment: environment)
        else { continue }
      }
      isServed = true
      // What was asked before the current token was minted is answered by it.
      if request.at / 1_000 < entries[index].schedule.issuedAt ?? .min { continue }
      entries[index].schedule.requested(request.reason == "missing" ? .missing : .refused)
    }
    return isServed
  }

  /// The number of the next credential whose token is due at `now` (seconds) and not on its way.
  func due(now: Int64) -> Int? {
    entries.indices.first { !entries[$0].isPending && entries[$0].schedule.order(now: now) != nil }
  }

  /// Signs the token that `due` found. It is pending until `answered`.
  mutating func mint(_ index: Int, now: Int64) throws(SigningError) -> ProviderTokenRecord? {
    let credential = entries[index].credential
    guard let order = entries[index].schedule.order(now: now) else { return nil }
    let token = try credential.minter.mint(issuedAt: order.issuedAt)
    entries[index].isPending = true
    return ProviderTokenRecord(
      credential: credential.id, teamID: credential.teamID, keyID: credential.keyID,
      scope: credential.scope, apps: credential.apps, issuedAt: order.issuedAt,
      generation: Int64(order.generation), token: token)
  }

  /// The topic has the record, or will never take it.
  mutating func answered(_ record: ProviderTokenRecord, isStored: Bool) {
    guard let index = index(record.credential) else { return }
    entries[index].isPending = false
    if isStored { published(record) }
  }

  private func index(_ credential: String) -> Int? {
    entries.firstIndex { $0.credential.id == credential }
  }
}
