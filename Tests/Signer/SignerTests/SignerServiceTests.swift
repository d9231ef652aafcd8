// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import Signer

@Suite(.serialized) struct SignerServiceTests {
  private func record(_ fixture: SignerFixture, age: Int64, generation: Int64) throws
    -> ProviderTokenRecord
  {
    let minter = try ProviderTokenMinter(
      key: fixture.key, teamID: "TEAMTEAM01", keyID: "KEYKEYKEY1")
    let issuedAt = WallClock.seconds() - age
    return ProviderTokenRecord(
      credential: "TEAMTEAM01/KEYKEYKEY1/any", teamID: "TEAMTEAM01", keyID: "KEYKEYKEY1",
      scope: .any, apps: ["com.example.app"], issuedAt: issuedAt, generation: generation,
      token: try minter.mint(issuedAt: issuedAt))
  }

  @Test
  func `a signer mints at the start, a token that the public key verifies, dated back 5 s at most`()
    throws
  {
    let fixture = try SignerFixture()
    let begin = WallClock.seconds()
    let signer = try fixture.start()
    defer { signer.stop() }
    let tokens = try fixture.tokens(atLeast: 1)
    #expect(tokens.count == 1)
    let token = try #require(tokens.first)
    #expect(token.credential == "TEAMTEAM01/KEYKEYKEY1/any")
    #expect(token.apps == ["com.example.app"])
    #expect(token.generation == 1)
    #expect((begin - 5...WallClock.seconds() - 5).contains(token.issuedAt))
    let parts = token.token.split(separator: ".")
    let signature = try #require(Base64URL.decode(parts[2].utf8))
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    #expect(fixture.key.publicKey.verifies(signed, rawSignature: signature))
  }

  @Test
  func `a signer mints and serves requests although the coordinator does not say where to go on`()
    throws
  {
    let fixture = try SignerFixture(embedded: true)
    let broker = try #require(fixture.kafka.broker)
    broker.inject(Array(repeating: .coordinatorNotAvailable, count: 100_000), into: .offsetFetch)
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    #expect(eventually { signer.isOwner && signer.counter("minted") == 1 })
    try request(fixture, reason: "missing")
    #expect(!eventually(withinMilliseconds: 300) { signer.counter("requests") > 0 })
    broker.clearFaults(of: .offsetFetch)
    #expect(eventually { signer.counter("requests") == 1 })
  }

  @Test
  func `a provider token that Kafka does not take is counted, and published when it does`() throws {
    let fixture = try SignerFixture(embedded: true)
    let broker = try #require(fixture.kafka.broker)
    broker.inject(Array(repeating: .topicNotAuthorized, count: 3), into: .produce)
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(eventually { signer.counter("refused_by_kafka") == 3 })
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    #expect(eventually { signer.counter("minted") == 1 })
  }

  @Test
  func `a record that the client never takes keeps no other credential from its token`() throws {
    let fixture = try SignerFixture()
    let apps = (0..<200).map { "com.example.large\($0)" }
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"], apps: apps)
    let signer = try fixture.start(["--kafka.producer.message.max.bytes=2000"])
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 1).map(\.keyID) == ["KEYKEYKEY2"])
  }

  @Test
  func `a second signer stands by and takes over without minting, whatever is requested`() throws {
    let fixture = try SignerFixture()
    let first = try fixture.start()
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    let second = try fixture.start()
    defer { second.stop() }
    #expect(eventually { first.isOwner != second.isOwner })
    first.stop()
    #expect(eventually { second.isOwner })
    try request(fixture, reason: "ExpiredProviderToken")
    expectEventually {
      second.context.counters.sums.contains { $0.name == "requests" && $0.value == 1 }
    }
    letPass(milliseconds: 1_000)
    #expect(try fixture.tokens(atLeast: 1).count == 1, "none is minted early")
  }

  @Test
  func
    `a changed credentials file is noticed without a signal; the old key goes after the new token came`()
    throws
  {
    let fixture = try SignerFixture()
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY2"])
    let records = try fixture.kafka.read(fixture.names.providerTokens, count: 4)
    let (old, new) = ("TEAMTEAM01/KEYKEYKEY1/any", "TEAMTEAM01/KEYKEYKEY2/any")
    // The withdrawal, and a tombstone for compaction.
    #expect(records.map(\.key) == [old, new, old, old])
    #expect(records.map { $0.value == nil } == [false, false, false, true])
    #expect(records[2].value?.contains(#""removed":true"#) == true)
  }

  @Test func `a file that changes before the signer works, as while Kafka is away, is noticed`()
    throws
  {
    let fixture = try SignerFixture()
    let signer = try fixture.start {
      try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"])
    }
    defer { signer.stop() }
    #expect(
      try fixture.tokens(atLeast: 2).map(\.credential) == [
        "TEAMTEAM01/KEYKEYKEY1/any", "TEAMTEAM01/KEYKEYKEY2/any",
      ])
  }

  @Test func `SIGHUP reads the file at once, and what cannot be used changes nothing`() throws {
    let fixture = try SignerFixture()
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    try File.write(fixture.credentialsPath, Array("[".utf8))
    signer.context.signals.requestReload()
    letPass(milliseconds: 1_500)
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"])
    signer.context.signals.requestReload()
    #expect(
      try fixture.tokens(atLeast: 2).map(\.credential) == [
        "TEAMTEAM01/KEYKEYKEY1/any", "TEAMTEAM01/KEYKEYKEY2/any",
      ])
  }

  @Test
  func
    `a file that would take an app away is refused, names the app, and is taken once it serves it`()
    throws
  {
    let fixture = try SignerFixture()
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"])
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 2).count == 2)
    func refused() -> [String] {
      signer.context.counters.samples.filter {
        $0.metric.name == "martlet_signer_reload_refused" && $0.value == .integer(1)
      }.map { $0.labels.joined(separator: "/") }
    }
    #expect(refused().isEmpty)
    try fixture.writeCredentials(
      keyIDs: ["KEYKEYKEY1"], apps: ["com.example.app", "com.example.b"])
    #expect(eventually { refused() == ["credentials/com.example.app1"] })
    // Nothing was withdrawn, and nothing of the new file is in use.
    #expect(try fixture.tokens(atLeast: 2).count == 2)
    let apps = ["com.example.app", "com.example.app1", "com.example.b"]
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1"], apps: apps)
    #expect(try fixture.tokens(atLeast: 3).contains { $0.apps == apps })
    #expect(refused().isEmpty)
  }

  @Test func `an absent broker at a reload is waited for`() throws {
    KafkaLog.silence()
    let fixture = try SignerFixture(embedded: true)
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    fixture.kafka.broker!.setDown()
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"])
    signer.context.signals.requestReload()
    #expect(!eventually(withinMilliseconds: 3_000) { signer.hasEnded })
    fixture.kafka.broker!.setUp()
    #expect(try fixture.tokens(atLeast: 2).count == 2)
    #expect(!signer.hasEnded)
  }

  @Test func `with a token key the topic holds no plain token, and the key opens it`() throws {
    let fixture = try SignerFixture()
    let (flags, seal) = try fixture.seal(String(repeating: "5a", count: 32))
    let signer = try fixture.start(flags)
    defer { signer.stop() }
    let sealed = try #require(try fixture.tokens(atLeast: 1).first)
    #expect(sealed.token.isEmpty)
    #expect(sealed.sealed?.hasPrefix("v1.") == true)
    let opened = try seal.opened(sealed)
    let parts = opened.token.split(separator: ".")
    let signature = try #require(Base64URL.decode(parts[2].utf8))
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    #expect(fixture.key.publicKey.verifies(signed, rawSignature: signature))
    // Its own record is read back and published again with other apps, sealed again.
    try fixture.writeCredentials(apps: ["com.example.app", "com.example.second"])
    let tokens = try fixture.tokens(atLeast: 2)
    #expect(tokens.count == 2)
    let again = try seal.opened(try #require(tokens.last))
    #expect(again.token == opened.token)
    #expect(again.apps.count == 2)
    #expect(tokens.last?.sealed != sealed.sealed)
    #expect(signer.counter("unreadable_tokens") == 0)
  }

  @Test(arguments: [true, false])
  func `a new token key seals the next record, and the old one still opens`(
    isSignalled: Bool
  ) throws {
    let fixture = try SignerFixture()
    let keys = (old: String(repeating: "5a", count: 32), new: String(repeating: "c3", count: 32))
    let (flags, old) = try fixture.seal(keys.old)
    let signer = try fixture.start(flags)
    defer { signer.stop() }
    let first = try old.opened(try #require(try fixture.tokens(atLeast: 1).first))
    _ = try fixture.seal("\(keys.new)\n\(keys.old)")
    let new = try fixture.seal(keys.new, file: "new-key").seal
    // Other apps are published at once, with the token that is there.
    try fixture.writeCredentials(apps: ["com.example.app", "com.example.second"])
    // Without a signal the files' change is noticed.
    if isSignalled { signer.context.signals.requestReload() }
    let again = try #require(try fixture.tokens(atLeast: 2).last)
    #expect(try new.opened(again).token == first.token)
    #expect(throws: TokenSealProblem.self) { try old.opened(again) }
    // A file that is no key leaves the one that is known.
    _ = try? fixture.seal("none")
    let all = ["com.example.app", "com.example.second", "com.example.third"]
    try fixture.writeCredentials(apps: all)
    signer.context.signals.requestReload()
    let last = try #require(try fixture.tokens(atLeast: 3).last)
    #expect(try new.opened(last).apps == all)
    #expect(signer.counter("unreadable_tokens") == 0)
  }

  @Test(arguments: [true, false])
  func `a signer without the key of what is there counts it, mints nothing early, and goes on`(
    hasOtherKey: Bool
  ) throws {
    let fixture = try SignerFixture()
    let (_, seal) = try fixture.seal(String(repeating: "5a", count: 32))
    let other = try fixture.seal(String(repeating: "c3", count: 32), file: "other-key")
    try fixture.publish(seal.sealed(record(fixture, age: 10 * 60, generation: 7)))
    try fixture.writeCredentials(keyIDs: ["KEYKEYKEY1", "KEYKEYKEY2"])
    let signer = try fixture.start(hasOtherKey ? other.flags : [])
    defer { signer.stop() }
    // The other credential is served.
    let tokens = try fixture.tokens(atLeast: 2)
    #expect(tokens.map(\.keyID) == ["KEYKEYKEY1", "KEYKEYKEY2"])
    #expect((tokens.last?.sealed != nil) == hasOtherKey)
    #expect(signer.counter("unreadable_tokens") == 1)
    letPass(milliseconds: 1_000)
    #expect(try fixture.tokens(atLeast: 2).count == 2)
  }

  private func request(_ fixture: SignerFixture, reason: String) throws {
    let producer = try KafkaProducer(fixture.kafka.configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: fixture.names.tokenRequests)
    let request = TokenRequest(
      credential: "TEAMTEAM01/KEYKEYKEY1/any", app: nil, environment: nil, reason: reason,
      at: WallClock.milliseconds())
    try fixture.kafka.produce(
      producer, topic, key: "k", value: String(decoding: request.value, as: UTF8.self))
  }
}
