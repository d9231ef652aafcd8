// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import SenderDecisions

/// Provider tokens and certificates that come, change and go.
@Suite struct CredentialsTests {
  @Test func `a push without a provider token waits, asks for one, and goes out when it comes`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.produce(1)
    #expect(loop.run { loop.appTokenRequests == 1 })
    loop.run(milliseconds: 500)
    #expect(loop.connects.isEmpty)
    loop.publishToken()
    #expect(loop.runToEnd(of: 1))
    #expect(loop.delivered(1..<2, attempts: 1))
  }

  @Test func `an app that no credential serves: a dead letter in time, or expired before that`() {
    let loop = ScriptedLoop { $0.credentialWait = 3_000 }
    loop.produce(1, app: "unknown")
    loop.produce(2, app: "unknown") { $0.expiresAt = loop.wall + 2_000 }
    #expect(loop.runToEnd(of: 2, within: 5_000))
    #expect(loop.endings[1]?.cause == .noCredential)
    #expect(loop.endings[2]?.cause == .expiration)
    #expect((loop.endings[2]?.at ?? .max) < (loop.endings[1]?.at ?? 0))
    #expect((loop.latency(of: 1) ?? 0) >= 3_000 && loop.requests.isEmpty)
  }

  @Test(arguments: [false, true])
  func `no signer: known credentials are held, what expires has expired, nothing is a dead letter`(
    hasRecord: Bool
  ) {
    let loop = ScriptedLoop(hasToken: false) { $0.credentialWait = 300 }
    if hasRecord { loop.publishToken(age: 3_600) } else { loop.findNoTokens() }
    loop.produce(0..<5) { $0.expiresAt = loop.wall + 2_000 }
    loop.produce(5..<20)
    loop.run(milliseconds: 60_000)
    #expect(loop.count(.expired) == 5 && loop.endings.count == 5)
    #expect(loop.connects.isEmpty)
    loop.publishToken()
    #expect(loop.runToEnd(of: 20))
    #expect(loop.delivered(5..<20, attempts: 1))
  }

  @Test func `a withdrawn credential: what waits becomes dead letters, what is open is answered`() {
    let loop = ScriptedLoop { $0.credentialWait = 3_000 }
    loop.gateways[0].streams = 2
    loop.answer { $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<10)
    #expect(loop.run { loop.requests.count == 3 })
    loop.publishToken("other", apps: ["other"])
    loop.withdrawToken()
    loop.run(milliseconds: 500)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 10))
    #expect(loop.count(.delivered) == 3 && loop.count(.deadLettered) == 7)
    #expect(loop.run(within: 5_000) { loop.open == 0 })
  }

  @Test func `a credential that is withdrawn while addresses are tried: no further one is`() {
    let loop = ScriptedLoop(addresses: 4)
    loop.connect(.silence)
    loop.produce(0..<2)
    #expect(loop.run { loop.connects.count == 2 })
    loop.connect(.served)
    loop.withdrawToken()
    // The next attempt would join in the same turn, before the others have ended.
    loop.run(milliseconds: 250, step: 250)
    loop.run(milliseconds: 1_000)
    #expect(loop.connects.count == 2 && loop.sockets.isEmpty)
    let pool = loop.dispatcher.standing(ofPool: 0)
    #expect(pool?.kind == nil, "it is removed")
  }

  @Test
  func `a rotated key: its connections drain, new ones carry the new token, nothing is doubled`() {
    let loop = ScriptedLoop()
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<11)
    #expect(loop.run { loop.requests.count == 11 })
    loop.publishToken("key2")
    loop.withdrawToken()
    loop.produce(11..<40)
    #expect(loop.run { loop.delivered(11..<40, attempts: 1) })
    loop.answerHeld()
    #expect(loop.runToEnd(of: 40))
    #expect(loop.delivered(0..<40, attempts: 1))
    let tokens = Dictionary(grouping: loop.requests, by: \.connection)
      .mapValues { Set($0.map(\.token)).count }
    #expect(tokens == [1: 1, 2: 1], "one token a connection")
    #expect(Set(loop.requests.map(\.token)).count == 2)
    #expect(loop.run { loop.open == 1 })
  }

  @Test func `a renewed token is put on a connection 21 minutes after the last one, not earlier`() {
    let loop = ScriptedLoop()
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    loop.publishToken()
    for number in 5..<27 {
      loop.run(milliseconds: 57_000, step: 250)
      loop.produce(number)
      #expect(loop.runToEnd(of: number + 1, within: 2_000))
    }
    #expect(Set(loop.requests.map(\.token)).count == 1)
    loop.run(milliseconds: 60_000)
    loop.produce(27)
    #expect(loop.runToEnd(of: 28, within: 2_000))
    #expect(Set(loop.requests.map(\.token)).count == 2)
    #expect(loop.connects.count == 1)
  }

  @Test func `a token that becomes too old is given up with its connection for a newer one`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.publishToken(age: 54 * 60)
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    loop.publishToken()
    loop.run(milliseconds: 90_000)
    loop.produce(5..<10)
    #expect(loop.runToEnd(of: 10))
    #expect(loop.delivered(0..<10, attempts: 1))
    let tokens = Dictionary(grouping: loop.requests, by: \.connection).mapValues {
      Set($0.map(\.token)).count
    }
    #expect(tokens.values.allSatisfy { $0 == 1 }, "\(tokens)")
  }

  @Test func `a token older than 55 minutes is not used: pushes wait for the next one`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.publishToken(age: 55 * 60)
    loop.produce(0..<5)
    loop.run(milliseconds: 120_000)
    #expect(loop.requests.isEmpty && loop.endings.isEmpty)
    loop.publishToken()
    #expect(loop.runToEnd(of: 5))
  }

  @Test func `a token of the future is not used, the last good one is, and the next right one`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.publishToken("key", apps: ["app"], age: 5)
    loop.publishToken("key", apps: ["app"], age: -86_400)
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    #expect(loop.requests.allSatisfy { $0.token == Array("key 1".utf8) })
    loop.withdrawToken()
    loop.publishToken("key", apps: ["app"], age: 10)
    loop.produce(5..<10)
    #expect(loop.runToEnd(of: 10))
    #expect(loop.requests(of: 7).map(\.token) == [Array("key 3".utf8)])
  }

  @Test
  func `a burst that is refused for its old token asks for a newer one once, and waits for it`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<31)
    #expect(loop.run { loop.requests.count == 31 })
    let old = loop.requests[0].token
    loop.answer { $0.token == old ? .reason(.expiredProviderToken) : .accepted }
    loop.answerHeld(.reason(.expiredProviderToken, after: 0))
    loop.run(milliseconds: 4_000)
    #expect(loop.tokenRequests.map(\.reason) == [.expiredProviderToken])
    loop.publishToken()
    #expect(loop.runToEnd(of: 31))
    #expect(loop.delivered(0..<31) && loop.count(.rejected) == 0)
  }

  @Test
  func `TooManyProviderTokenUpdates: no token is asked for, another connection carries the same`() {
    let loop = ScriptedLoop()
    loop.answer {
      $0.connection == 1 && $0.stream > 1 ? .reason(.tooManyProviderTokenUpdates) : .accepted
    }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.produce(1..<4)
    #expect(loop.runToEnd(of: 4))
    #expect(loop.delivered(0..<4))
    #expect(Set(loop.requests.map(\.token)).count == 1 && loop.connects.count == 2)
    #expect(loop.tokenRequests.isEmpty)
  }

  @Test func `a credential that serves other apps than before gets new connections`() {
    let loop = ScriptedLoop()
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    // APNs knows the topics of a team as they were when a connection sent its first push.
    loop.publishToken(apps: ["app", "new"])
    loop.produce(5..<20)
    loop.run(milliseconds: 3_000)
    loop.produce(20..<30, app: "new")
    #expect(loop.runToEnd(of: 30))
    #expect(loop.delivered(0..<30, attempts: 1))
    #expect(loop.requests.last?.connection == 2 && loop.open == 1)
  }

  @Test func `what is open when another credential takes its app over, and fails, goes to that`() {
    let loop = ScriptedLoop()
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<11)
    #expect(loop.run { loop.requests.count == 11 })
    loop.publishToken(apps: ["other"])
    loop.publishToken("key2")
    loop.tell(.broken, on: 1)
    #expect(loop.runToEnd(of: 11))
    #expect(loop.delivered(0..<11, attempts: 2))
    let again = loop.requests.dropFirst(11)
    #expect(again.count == 10 && again.allSatisfy { $0.token == Array("key2 3".utf8) })
  }

  @Test func `what waits for another connection when a credential takes its app over goes to it`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.gateways[1].connect = { _ in .silence }
    loop.answer { $0.push == 1 && $0.connection == 1 ? .reset : .accepted }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.produce(1)
    #expect(loop.run { loop.dispatcher.standing(ofPool: 0)?.heldForConnection == 1 })
    loop.publishToken(apps: ["other"])
    loop.publishToken("key2")
    #expect(loop.runToEnd(of: 2))
    #expect(loop.requests(of: 1).count == 2)
    #expect(loop.requests(of: 1).last?.token == Array("key2 3".utf8))
  }

  // MARK: Certificates

  @Test func `with a certificate: no token, and all streams at once`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.setCertificates([loop.certificate(["app"])])
    loop.gateways[0].streams = 100
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<40)
    #expect(loop.run { loop.requests.count == 40 })
    loop.answerHeld()
    #expect(loop.runToEnd(of: 40))
    #expect(loop.requests.allSatisfy { $0.token == nil })
  }

  @Test(arguments: [Reason.expiredProviderToken, .invalidProviderToken, .internalServerError])
  func `with a certificate no provider token is asked for, whatever is answered`(reason: Reason) {
    let loop = ScriptedLoop(hasToken: false)
    loop.setCertificates([loop.certificate(["app"])])
    loop.answer { _ in .reason(reason) }
    loop.produce(0)
    loop.run(milliseconds: 5_000)
    #expect(!loop.requests.isEmpty && loop.tokenRequests.isEmpty)
  }

  @Test func `a push that needs a provider token waits for one, whatever certificate there is`() {
    let loop = ScriptedLoop(hasToken: false) { $0.credentialWait = 20_000 }
    loop.findNoTokens()
    loop.setCertificates([loop.certificate(["app"])])
    loop.produce(0) { $0.pushType = .widgets }
    loop.produce(1..<4)
    loop.run(milliseconds: 5_000)
    #expect(loop.delivered(1..<4) && loop.endings.count == 3)
    loop.publishToken()
    #expect(loop.runToEnd(of: 4))
    #expect(loop.requests(of: 0).first?.token != nil)
    #expect(loop.requests(of: 0).first?.connection == 2)
  }

  @Test func `dead letters say which kind of credential is missing`() {
    let loop = ScriptedLoop { $0.credentialWait = 1_000 }
    loop.setCertificates([loop.certificate(["certified"])])
    loop.produce(1, app: "certified") { $0.pushType = .widgets }
    loop.produce(2, app: "app") { $0.pushType = .mdm }
    loop.produce(3, app: "unknown")
    #expect(loop.runToEnd(of: 3))
    #expect(
      (1...3).map { loop.endings[$0]?.cause } == [
        .certificateOnly, .certificateNeeded, .noCredential,
      ])
  }

  @Test func `a renewed certificate takes over, the old connection drains, nothing is lost`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.setCertificates([loop.certificate(["app"])])
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<11)
    #expect(loop.run { loop.requests.count == 11 })
    loop.setCertificates([loop.certificate(["app"])], places: [nil])
    loop.produce(11..<40)
    #expect(loop.run { loop.delivered(11..<40) })
    #expect(loop.requests.filter { $0.push > 10 }.allSatisfy { $0.connection == 2 })
    loop.answerHeld()
    #expect(loop.runToEnd(of: 40))
    #expect(loop.delivered(0..<40, attempts: 1) && loop.run { loop.open == 1 })
  }

  @Test func `a certificate that expires: what waits for it is held until there is a new one`() {
    let loop = ScriptedLoop(hasToken: false) { $0.credentialWait = 3_000 }
    loop.findNoTokens()
    loop.setCertificates([loop.certificate(["app"], for: 60)])
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    loop.run(milliseconds: 62_000)
    #expect(loop.open == 0)
    loop.produce(5..<10)
    loop.run(milliseconds: 60_000)
    #expect(loop.endings.count == 5)
    loop.setCertificates([loop.certificate(["app"])], places: [nil])
    #expect(loop.runToEnd(of: 10))
    #expect(loop.delivered(0..<10, attempts: 1))
  }

  // MARK: Requests for provider tokens

  private func push(app: UInt64) -> PushState {
    var push = PushState()
    push.fill(
      PushFacts(
        dedupKey: NotificationID(high: 0, low: app), app: app, device: 1, lane: .bulk, created: 0,
        expiresAt: .max), Origin(partition: 0, epoch: 0, offset: 0), maxAge: 1, kind: .production)
    return push
  }

  /// Anyone may write notifications of apps that nobody has: more than the table of those asked for remembers.
  @Test func `a flood of unknown apps asks for a bounded number of tokens per second`() {
    var credentials = Credentials(certificates: CertificateBook([], now: 0))
    var asked: [UInt64: Int] = [:]
    for now in stride(from: UInt64(5_000), to: 8_000, by: 10) {
      for number in 0..<2_000 as Range<UInt64> {
        let push = push(app: number &* 0x9E37_79B9_7F4A_7C15)
        if credentials.shouldRequestToken(of: push, now: now) {
          asked[now / 1_000, default: 0] += 1
        }
      }
    }
    #expect(asked == [5: 256, 6: 256, 7: 256])
  }

  @Test func `an app is asked for once per second`() {
    var credentials = Credentials(certificates: CertificateBook([], now: 0))
    let times = [5_000, 5_999, 6_000, 6_001, 7_000] as [UInt64]
    let asked = times.map { credentials.shouldRequestToken(of: push(app: 7), now: $0) }
    #expect(asked == [true, false, true, false, true])
  }
}
