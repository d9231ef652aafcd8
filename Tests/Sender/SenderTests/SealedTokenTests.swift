// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import Sender

/// Sealed provider tokens.
@Suite(.serialized) struct SealedTokenTests {
  private static let key = String(repeating: "5a", count: 32)
  private static let other = String(repeating: "c3", count: 32)

  @Test
  func
    `with a line plain in its key file a sender uses sealed and plain tokens: a fleet on its way`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let seal = try rig.seal("\(Self.key)\nplain\n")
    try rig.publishToken(apps: ["com.example.sealed"], sealed: seal)
    try rig.publishToken(keyID: "KEY0000002", apps: ["com.example.plain"])
    let sender = try rig.startSender(for: [gateway], ["--token-key", rig.folder.file("token-key")])
    try rig.sendMany(0..<10, app: "com.example.sealed")
    try rig.sendMany(10..<20, app: "com.example.plain")
    let receipts = try rig.receipts(20)
    #expect(receipts.count == 20)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(Set(gateway.seen.requests.map(\.authorization)).count == 2)
    #expect(gateway.seen.requests.allSatisfy { $0.authorization?.hasPrefix("bearer eyJ") == true })
    #expect(sender.counter("unreadable_tokens") == 0)
  }

  @Test func `a signer seals, a sender opens, APNs takes the token: end to end`() throws {
    let rig = try SenderRig()
    _ = try rig.seal(Self.key)
    let flags = ["--token-key", rig.folder.file("token-key")]
    let signer = try rig.startSigner(flags)
    let sender = try rig.startSender(flags)
    try rig.sendMany(20)
    let receipts = try rig.receipts(20)
    #expect(receipts.count == 20)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.status == 200 })
    #expect(sender.counter("unreadable_tokens") == 0)
    let records = try rig.fixture.read(rig.names.providerTokens, count: 1)
    #expect(!records.isEmpty)
    #expect(records.allSatisfy { $0.value?.contains(#""sealed":"v1."#) == true })
    #expect(records.allSatisfy { $0.value?.contains("eyJ") == false })
    withExtendedLifetime(signer) {}
  }

  @Test
  func `a sender with a sealed token and its key delivers; nothing of the token is on the topic`()
    throws
  {
    let rig = try SenderRig()
    try rig.publishToken(sealed: try rig.seal(Self.key))
    let record = try #require(try rig.fixture.read(rig.names.providerTokens, count: 1).first)
    #expect(record.value?.contains("eyJ") == false)
    #expect(record.value?.contains(#""sealed":"v1."#) == true)
    try rig.startSender(["--token-key", rig.folder.file("token-key")])
    try rig.sendMany(20)
    #expect(try rig.receipts(20).count { $0.outcome == .delivered } == 20)
  }

  @Test(arguments: [nil, SealedTokenTests.other])
  func
    `without the key, or with another, it is counted, other credentials serve, and a readable token helps at once`(
      _ key: String?
    ) throws
  {
    let rig = try SenderRig()
    let seal = try rig.seal(Self.key)
    try rig.publishToken(apps: ["com.example.app"], sealed: seal)
    var flags: [String] = []
    if let key {
      _ = try rig.seal(key, file: "another-key")
      flags = ["--token-key", rig.folder.file("another-key")]
    }
    let sender = try rig.startSender(flags, loops: 1)
    #expect(eventually { sender.counter("unreadable_tokens") == 1 })
    try rig.sendMany(5)
    #expect(eventually { sender.counter("taken") == 5 })
    #expect(sender.counter("delivered") == 0)
    // With a key a plain one could be anybody's: what helps is one that this sender's own key opens.
    let readable = try key.map { try rig.seal($0, file: "another-key") } ?? TokenSeal.none
    try rig.publishToken(generation: 2, apps: ["com.example.app"], sealed: readable)
    let receipts = try rig.receipts(5)
    #expect(receipts.count == 5)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(!sender.hasEnded)
  }

  @Test
  func
    `with a key, neither a plain record nor one under another name takes an app from a good token`()
    throws
  {
    let rig = try SenderRig(keys: 3)
    let seal = try rig.seal(Self.key)
    try rig.publishToken(apps: [SenderRig.app], sealed: seal)
    // On a busy machine the pool would grow.
    let sender = try rig.startSender(
      ["--token-key", rig.folder.file("token-key"), "--max-connections", "1"], loops: 1)
    try rig.sendMany(0..<5)
    #expect(try rig.receipts(5).count { $0.outcome == .delivered } == 5)
    let now = WallClock.seconds()
    // Plain, newer, of the same credential; plain of another one whose name goes first; one that is no record.
    try rig.publishToken(issuedAt: now + 30, generation: 9, apps: [SenderRig.app])
    try rig.publishToken(keyID: "KEY0000000", apps: [SenderRig.app])
    let topic = try rig.producer.topic(named: rig.names.providerTokens)
    try rig.fixture.produce(rig.producer, topic, key: "TEAM000001/KEY0000001/any", value: "{}")
    expectEventually {
      sender.counter("unreadable_tokens") == 2 && sender.counter("bad_token_records") == 1
    }
    try rig.sendMany(5..<10)
    let receipts = try rig.receipts(10)
    #expect(receipts.count { $0.outcome == .delivered && $0.attempts == 1 } == 10)
    #expect(sender.counter("connects") == 1)
  }

  @Test func `with a key, only a sealed withdrawal takes a credential away`() throws {
    let rig = try SenderRig()
    let seal = try rig.seal(Self.key)
    try rig.publishToken(apps: [SenderRig.app], sealed: seal)
    let sender = try rig.startSender(
      ["--token-key", rig.folder.file("token-key")], loops: 1
    ) { $0.credentialWait = 1_000 }
    try rig.sendMany(0..<5)
    #expect(try rig.receipts(5).count { $0.outcome == .delivered } == 5)
    // A bare tombstone, a plain withdrawal, and a sealed one from before the token.
    let plain = try #require(
      ProviderTokenRecord(withdrawing: SenderRig.credential, at: WallClock.seconds() + 5))
    let old = try #require(
      ProviderTokenRecord(withdrawing: SenderRig.credential, at: WallClock.seconds() - 600))
    try rig.put(nil)
    try rig.put(plain)
    try rig.put(try seal.sealed(old))
    expectEventually {
      sender.counter("vanished_tokens") == 1 && sender.counter("bad_token_records") == 1
    }
    try rig.sendMany(5..<10)
    #expect(try rig.receipts(10).count { $0.outcome == .delivered } == 10)
    #expect(sender.counter("credentials_without_token") == 0)
    try rig.put(try seal.sealed(plain))
    // Until the sender has read that, the token serves.
    var next = 10
    try expectEventually {
      defer { next += 1 }
      try rig.sendMany(next..<next + 1)
      return try rig.receipts(of: next..<next + 1).allSatisfy { $0.outcome == .deadLettered }
    }
  }

  /// A tombstone says that the record is gone: by compaction, or because somebody wrote it. Nobody says that the signer
  /// has withdrawn the credential.
  @Test
  func `without a key a tombstone makes pushes wait, the process not ready, and no dead letter`()
    throws
  {
    let rig = try SenderRig()
    try rig.publishToken(apps: [SenderRig.app])
    let sender = try rig.startSender(loops: 1) { $0.credentialWait = 0 }
    try rig.sendMany(0..<5)
    #expect(try rig.receipts(5).count { $0.outcome == .delivered } == 5)
    try rig.put(nil)
    #expect(
      eventually { sender.counter("credentials_without_token") == 1 })
    let obstacles = { sender.context.status.obstacles.map { "\($0)" }.joined() }
    #expect(eventually { obstacles().contains("no provider token for credential") })
    try rig.sendMany(5..<10)
    #expect(eventually { sender.counter("taken") == 10 })
    #expect(sender.counter("dead_lettered") == 0)
    try rig.publishToken(generation: 2, apps: [SenderRig.app])
    #expect(try rig.receipts(10).count { $0.outcome == .delivered } == 10)
    #expect(sender.counter("dead_lettered") == 0)
  }

  @Test
  func `SIGHUP reads the key again: what no key opened serves; a broken file changes nothing`()
    throws
  {
    let rig = try SenderRig(keys: 2)
    let next = try rig.seal(Self.other, file: "next")
    _ = try rig.seal(Self.key)
    try rig.publishToken(apps: [SenderRig.app], sealed: next)
    let sender = try rig.startSender(["--token-key", rig.folder.file("token-key")])
    try rig.sendMany(20)
    expectEventually {
      sender.counter("unreadable_tokens") == 1 && sender.counter("taken") == 20
    }
    #expect(sender.counter("delivered") == 0)
    _ = try rig.seal("\(Self.key)\n\(Self.other)")
    sender.context.signals.requestReload()
    #expect(try rig.receipts(20).count { $0.outcome == .delivered && $0.attempts == 1 } == 20)
    try File.write(rig.folder.file("token-key"), Array("none".utf8))
    sender.context.signals.requestReload()
    try rig.publishToken(keyID: SenderRig.keyID(2), apps: ["com.example.second"], sealed: next)
    try rig.sendMany(100..<120, app: "com.example.second")
    #expect(try rig.receipts(of: 100..<120).count { $0.outcome == .delivered } == 20)
    #expect(sender.counter("unreadable_tokens") == 1)
  }

  @Test func `a withdrawal that no key opened takes the credential away when its key comes in`()
    throws
  {
    let rig = try SenderRig()
    let rotated = try rig.seal(Self.other, file: "next")
    try rig.publishToken(apps: [SenderRig.app], sealed: try rig.seal(Self.key))
    let sender = try rig.startSender(
      ["--token-key", rig.folder.file("token-key")], loops: 1
    ) { $0.credentialWait = 1_000 }
    try rig.sendMany(0..<5)
    #expect(try rig.receipts(5).count { $0.outcome == .delivered } == 5)
    // The signers have another key first: one renews the token, and then withdraws the credential.
    try rig.publishToken(generation: 2, apps: [SenderRig.app], sealed: rotated)
    let withdrawal = try #require(
      ProviderTokenRecord(withdrawing: SenderRig.credential, at: WallClock.seconds() + 5))
    try rig.put(try rotated.sealed(withdrawal))
    try rig.put(nil)
    expectEventually {
      sender.counter("unreadable_tokens") == 1 && sender.counter("bad_token_records") == 1
        && sender.counter("vanished_tokens") == 1
    }
    _ = try rig.seal("\(Self.key)\n\(Self.other)")
    sender.context.signals.requestReload()
    // Until the sender has read that, the token serves.
    var next = 5
    try expectEventually {
      defer { next += 1 }
      try rig.sendMany(next..<next + 1)
      return try rig.receipts(of: next..<next + 1).allSatisfy { $0.outcome == .deadLettered }
    }
  }

  @Test
  func
    `the errors name the key that is needed and what to do; a record put elsewhere does not open`()
    throws
  {
    let rig = try SenderRig()
    let seal = try rig.seal(Self.key)
    let record = ProviderTokenRecord(
      credential: "TEAM000001/KEY0000001/any", teamID: "TEAM000001", keyID: "KEY0000001",
      scope: .any, apps: ["*"], issuedAt: 1_795_000_000, generation: 7, token: "eyJhbGc.eyJp.c2ln")
    let sealed = try seal.sealed(record)
    #expect(sealed.token.isEmpty)
    #expect(try seal.opened(sealed) == record)
    // A key that comes in opens what the old one sealed, and seals with its own.
    let both = try rig.seal("\(Self.other)\n\(Self.key)\n", file: "both")
    #expect(try both.opened(sealed) == record)
    #expect(throws: TokenSealProblem.self) { try seal.opened(both.sealed(record)) }

    func problem(_ seal: TokenSeal, _ record: ProviderTokenRecord) -> String {
      do throws(TokenSealProblem) {
        _ = try seal.opened(record)
        return ""
      } catch {
        return error.description
      }
    }
    let id = try #require(sealed.sealed?.split(separator: ".")[1])
    for wrong in [problem(.none, sealed), problem(try rig.seal(Self.other, file: "x"), sealed)] {
      #expect(wrong.contains("TEAM000001/KEY0000001/any"))
      #expect(wrong.contains("key \(id)"))
      #expect(wrong.contains("--token-key"))
      #expect(!wrong.contains(Self.key) && !wrong.contains(Self.other))
    }
    var moved = sealed
    moved.credential = "TEAM000001/KEY0000002/any"
    #expect(problem(seal, moved).contains("belongs to another record"))
    var later = sealed
    later.generation = 8
    #expect(problem(seal, later).contains("belongs to another record"))
    var others = sealed
    others.apps = ["com.example.stolen"]
    #expect(problem(seal, others).contains("belongs to another record"))
    var elsewhere = sealed
    elsewhere.scope = .sandbox
    #expect(problem(seal, elsewhere).contains("belongs to another record"))
    #expect(problem(seal, record).contains("is not sealed"))
    #expect(problem(try rig.seal("plain\n\(Self.key)", file: "way"), record).isEmpty)
    #expect(try seal.opened(record, trustsPlain: true) == record)
    var younger = sealed
    younger.issuedAt += 1
    #expect(problem(seal, younger).contains("belongs to another record"))
  }

  @Test func `a key file that others can read, or that holds no key, is refused with what to do`()
    throws
  {
    let folder = TemporaryFolder()
    func problem(_ text: String, mode: UInt32 = 0o600) throws -> String {
      try File.write(folder.file("k"), Array(text.utf8), mode: mode)
      let flags = ["--kafka", "localhost:1", "--token-key", folder.file("k")]
      let values = try SenderSettings.table.values(flags)
      do throws(SettingErrors) {
        _ = try SenderSettings(values)
        return ""
      } catch {
        return error.errors.map { "\($0)" }.joined()
      }
    }
    #expect(try problem(Self.key) == "")
    #expect(try problem(Self.key, mode: 0o604).contains("chmod 600"))
    // A group that this process is in, as with a Kubernetes secret under fsGroup.
    #expect(try problem(Self.key, mode: 0o440) == "")
    let short = try problem(String(repeating: "5a", count: 31))
    #expect(short.contains("openssl rand -hex 32") && short.contains("line 1"))
    #expect(!short.contains("5a5a"))
  }
}

extension SenderRig {
  fileprivate static let credential = "TEAM000001/KEY0000001/any"

  /// Writes what stands for the credential on the tokens' topic; nil: a tombstone.
  fileprivate func put(_ record: ProviderTokenRecord?) throws {
    let topic = try producer.topic(named: names.providerTokens)
    try fixture.produce(
      producer, topic, key: Self.credential,
      value: record.map { String(decoding: $0.value, as: UTF8.self) })
  }
}
