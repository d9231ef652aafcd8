// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import Records
import SignerDecisions
import Testing

@testable import Signer

@Suite struct TokenIssuerTests {
  private let key: SigningKey
  private let credential: Credential

  init() throws {
    key = try SigningKey.generate()
    credential = try Self.credential(key)
  }

  private static func credential(
    _ key: SigningKey, keyID: String = "ABC123DEFG", apps: [String] = ["a"]
  ) throws -> Credential {
    Credential(
      teamID: "TEAM123456", keyID: keyID, scope: .production, apps: apps, keyPath: "",
      minter: try ProviderTokenMinter(key: key, teamID: "TEAM123456", keyID: keyID))
  }

  private func record(
    _ issuedAt: Int64, generation: Int64 = 1, key: SigningKey? = nil
  ) throws -> ProviderTokenRecord {
    let minter = try ProviderTokenMinter(
      key: key ?? self.key, teamID: "TEAM123456", keyID: "ABC123DEFG")
    return ProviderTokenRecord(
      credential: credential.id, teamID: "TEAM123456", keyID: "ABC123DEFG", scope: .production,
      apps: ["a"], issuedAt: issuedAt, generation: generation,
      token: try minter.mint(issuedAt: issuedAt))
  }

  private func request(
    at seconds: Int64, app: String = "a", reason: String = "ExpiredProviderToken"
  ) -> TokenRequest {
    TokenRequest(
      credential: nil, app: app, environment: .production, reason: reason, at: seconds * 1_000)
  }

  @Test func `a token on its way is not minted again and a refused one is`() throws {
    var issuer = TokenIssuer([credential])
    let first = try issuer.work(0, now: 10_000)?.record
    #expect(first?.issuedAt == 9_995)
    let during = try issuer.work(0, now: 10_001)
    #expect(during == nil)
    issuer.answered(try #require(first), isStored: false)
    let again = try issuer.work(0, now: 10_002)?.record
    #expect(again?.generation == 1)
    issuer.answered(try #require(again), isStored: true, at: 0)
    let after = try issuer.work(0, now: 10_003)
    #expect(after == nil)
    #expect(issuer.machine.isSettled(wall: 10_003))
    let next = try issuer.work(0, now: 9_997 + 45 * 60)
    #expect(next?.record.generation == 2)
  }

  @Test func `a request that is older than the current token changes nothing`() throws {
    var issuer = TokenIssuer([credential])
    let verdict = issuer.read(try record(5_000, generation: 3), at: 0, now: 5_000)
    #expect(verdict == .own)
    let isServed = issuer.requested(request(at: 4_999), now: 5_001)
    #expect(isServed)
    let unasked = try issuer.work(0, now: 5_000 + 21 * 60)
    #expect(unasked == nil)
    _ = issuer.requested(request(at: 5_001, reason: TokenRequest.aging), now: 5_001)
    let early = try issuer.work(0, now: 5_000 + 19 * 60)
    #expect(early == nil)
    let due = try issuer.work(0, now: 5_000 + 21 * 60)
    #expect(due != nil)
  }

  @Test func `a request for an app that no credential serves is reported`() {
    var issuer = TokenIssuer([credential])
    let isServed = issuer.requested(request(at: 1, app: "b"), now: 1)
    #expect(!isServed)
  }

  /// As with a second `martlet up` on a cluster where another one has been: the same ids, another key.
  @Test func `a token of another key with the same id is cleared and replaced`() throws {
    var issuer = TokenIssuer([credential])
    let foreign = try record(9_990, generation: 7, key: try SigningKey.generate())
    let verdict = issuer.read(foreign, at: 4, now: 10_000)
    #expect(verdict == .stranger)
    let work = try issuer.work(0, now: 10_000)
    #expect(work?.clears == true)
    let minted = try #require(work?.record)
    #expect(minted.generation == 1)
    issuer.removed(credential.id, at: 5)
    issuer.answered(minted, isStored: true, at: 6)
    let settled = try issuer.work(0, now: 10_001)
    #expect(settled == nil)
    // Forged again: the good one is published again, no other is minted.
    _ = issuer.read(foreign, at: 7, now: 10_002)
    let repair = try issuer.work(0, now: 10_002)
    #expect(repair?.clears == true)
    #expect(repair?.record.token == minted.token)
    #expect(repair?.record.generation == 2)
  }

  @Test func `records that claim more than their token says are not the signer's own`() throws {
    var issuer = TokenIssuer([credential])
    var later = try record(10_000)
    later.issuedAt = 10_030
    var endless = try record(10_000)
    endless.generation = 1 << 60
    var otherTeam = try record(10_000)
    otherTeam.teamID = "TEAM999999"
    for (offset, record) in [later, endless, otherTeam].enumerated() {
      let verdict = issuer.read(record, at: Int64(offset), now: 10_000)
      #expect(verdict == .stranger)
    }
    let broken = issuer.readStranger(credential.id, at: 3)
    #expect(broken == .stranger)
    // Its own token for other apps: the same token again, with the right ones.
    var stolen = try record(10_000)
    stolen.apps = ["b"]
    let verdict = issuer.read(stolen, at: 4, now: 10_000)
    #expect(verdict == .own)
    let work = try issuer.work(0, now: 10_000)
    #expect(work?.clears == false)
    #expect(work?.record.apps == ["a"])
    #expect(work?.record.token == stolen.token)
  }

  @Test func `a token of the future is replaced by the last good one, or by a new one`() throws {
    var issuer = TokenIssuer([credential])
    let good = try record(10_000)
    _ = issuer.read(good, at: 0, now: 10_010)
    let future = try record(96_400, generation: 2)
    let verdict = issuer.read(future, at: 1, now: 10_012)
    #expect(verdict == .ofFuture(seconds: 86_388))
    let work = try issuer.work(0, now: 10_012)
    #expect(work?.record.token == good.token)
    #expect(work?.record.generation == 3)
    var fresh = TokenIssuer([credential])
    _ = fresh.read(future, at: 1, now: 10_012)
    let minted = try fresh.work(0, now: 10_012)
    #expect(minted?.record.issuedAt == 10_007)
  }

  @Test
  func `credentials that the file does not list go off the topic, broken ones included`() throws {
    var issuer = TokenIssuer([credential])
    var other = try record(10_000)
    other.credential = "TEAM123456/GONE123456/production"
    let verdict = issuer.read(other, at: 0, now: 10_000)
    #expect(verdict == .unlisted)
    let broken = issuer.readStranger("nonsense", at: 1)
    #expect(broken == .unlisted)
    issuer.removed("nonsense", at: 2)
    #expect(!issuer.machine.isSettled(wall: 10_000), "the listed one has no token yet")
    let gone = issuer.machine.drainUnlisted(wall: 10_000, now: 30_000)
    #expect(gone == [other.credential])
    #expect(!issuer.machine.hasUnlisted)
    issuer.machine.notWithdrawn(other.credential)
    #expect(issuer.machine.hasUnlisted)
  }

  /// A sender that has read the record and the tombstone knows the credential and misses its token.
  @Test func `a tombstone that others wrote does not withdraw a credential, a signer's word does`()
    throws
  {
    var issuer = TokenIssuer([credential])
    var other = try record(10_000)
    other.credential = "TEAM123456/GONE123456/production"
    _ = issuer.read(other, at: 0, now: 10_000)
    issuer.removed(other.credential, at: 1)
    #expect(issuer.machine.hasUnlisted)
    issuer.machine.forgotten(other.credential, at: 2)
    #expect(!issuer.machine.hasUnlisted)
    issuer.removed(other.credential, at: 3)
    #expect(!issuer.machine.hasUnlisted, "the tombstone of the withdrawal")
    // One that was in the file until now.
    #expect(issuer.replace([], now: 0) == [credential.id])
    issuer.removed(credential.id, at: 4)
    #expect(issuer.machine.drainUnlisted(wall: 10_000, now: 30_000) == [credential.id])
  }

  @Test func `a plain record of a signer that seals is published again, sealed`() throws {
    var issuer = TokenIssuer([credential])
    let plain = try record(10_000)
    let verdict = issuer.read(plain, isComplete: false, at: 0, now: 10_000)
    #expect(verdict == .own)
    let work = try issuer.work(0, now: 10_001)
    #expect(work?.record.token == plain.token)
    #expect(work?.record.generation == 2)
  }

  @Test func `other apps in the file are published with the token that is there`() throws {
    var issuer = TokenIssuer([credential])
    let known = try record(10_000)
    _ = issuer.read(known, at: 0, now: 10_000)
    let gone = issuer.replace([try Self.credential(key, apps: ["a", "b"])], now: 0)
    #expect(gone.isEmpty)
    let work = try issuer.work(0, now: 10_001)
    #expect(work?.record.apps == ["a", "b"])
    #expect(work?.record.token == known.token)
    let replaced = issuer.replace([try Self.credential(key, keyID: "OTHER12345")], now: 0)
    #expect(replaced == [credential.id])
    #expect(issuer.machine.hasUnlisted)
  }
}
