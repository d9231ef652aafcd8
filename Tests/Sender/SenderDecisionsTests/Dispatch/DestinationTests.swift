// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing

/// A destination, whatever its gateway does.
@Suite struct DestinationTests {
  private static let minute: UInt64 = 60_000

  /// Every reason whose answer says that the gateway does not serve, not that the push is wrong.
  private static let refusing = Reason.allCases.filter {
    switch $0.rule.verdict {
    case .retryElsewhere, .refreshToken: true
    case .credentialRefused: true
    default: false
    }
  }

  @Test(
    arguments: Reason.allCases, [ConnectionStateMachine.Authentication.providerToken, .certificate])
  func
    `a reason as the only answer for ten minutes: at most five connects in 30 s, and all is well afterwards`(
      reason: Reason, authentication: ConnectionStateMachine.Authentication
    )
  {
    let model = ScriptedDestination(seed: UInt64(reason.rawValue), authentication: authentication)
    model.app = { $0 % 3 + 1 }
    model.push = { _, _, _ in .reason(reason) }
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.mostConnects(within: 30_000) <= 5, "\(reason): \(model.connects)")
    #expect(model.deadLettered == 0)
    let delivered = model.delivered.values.reduce(0, +)
    #expect(delivered == 0)
    if Self.refusing.contains(reason) {
      let sends = model.sends.values.reduce(0, +)
      // Ten minutes with waits of at most one minute, and the first moments.
      #expect(sends <= 40, "\(reason): \(sends) sends")
      // The first ones of an outage are not known to be its.
      #expect(model.mostCounted <= 3, "\(reason) uses up attempts")
    }
    model.push = { _, _, _ in .accepted }
    model.renew()
    model.run(milliseconds: Self.minute)
    #expect(model.delivered.values.reduce(0, +) > 300, "\(reason): it does not come back")
  }

  @Test(
    arguments: [200, 204, 301, 403, 404, 410, 429, 503] as [UInt16],
    [ConnectionStateMachine.Authentication.providerToken, .certificate])
  func
    `an answer that is not of APNs, for ten minutes: nothing is rejected or given up, no storm, and all is well afterwards`(
      status: UInt16, authentication: ConnectionStateMachine.Authentication
    )
  {
    for serves in [false, true] {
      let model = ScriptedDestination(seed: UInt64(status), authentication: authentication)
      model.app = { $0 % 3 + 1 }
      if serves { model.run(milliseconds: 6_000) }
      let (before, sent) = (model.connects.count, model.sends.values.reduce(0, +))
      model.push = { _, _, _ in .foreign(status) }
      model.run(milliseconds: 10 * Self.minute)
      #expect(
        model.mostConnects(within: 30_000, from: before) <= 5, "\(status): \(model.connects)")
      #expect(model.deadLettered == 0 && model.rejected.isEmpty)
      #expect(model.trouble == .gateway)
      let sends = model.sends.values.reduce(0, +) - sent
      #expect(sends <= 60, "\(status): \(sends) sends")
      #expect(model.mostCounted <= 3, "\(status) uses up attempts")
      model.push = { _, _, _ in .accepted }
      let delivered = model.delivered.values.reduce(0, +)
      model.run(milliseconds: 2 * Self.minute)
      #expect(
        model.delivered.values.reduce(0, +) > delivered + 300, "\(status): it does not come back")
    }
  }

  @Test func `one answer in a hundred is not of APNs: nothing stands still, nothing is rejected`() {
    let good = ScriptedDestination()
    good.run(milliseconds: Self.minute)
    let model = ScriptedDestination()
    model.push = { _, _, push in push % 100 == 50 ? .foreign(410) : .accepted }
    model.run(milliseconds: Self.minute)
    #expect(model.delivered[1, default: 0] > good.delivered[1, default: 0] * 9 / 10)
    #expect(model.rejected.isEmpty && model.deadLettered == 0)
    #expect(model.connects.count <= good.connects.count + 2)
  }

  @Test(arguments: Reason.allCases)
  func `after a time of service a reason becomes the only answer: no storm of connects`(
    reason: Reason
  ) {
    let model = ScriptedDestination()
    model.app = { $0 % 3 + 1 }
    model.run(milliseconds: 6_000)
    #expect(model.connects.count >= 2)
    let before = model.connects.count
    model.push = { _, _, _ in .reason(reason) }
    model.run(milliseconds: 3 * Self.minute)
    #expect(
      model.mostConnects(within: 30_000, from: before) <= 5, "\(reason): \(model.connects)")
    #expect(model.deadLettered == 0)
  }

  /// What the 28 faults of the simulator do to connections, to all of them.
  static let ends: [(String, ConnectDeed, GatewayDeed)] = [
    ("stream_limit_low, stream_limit_changes: no streams", .served, .refusedStream),
    ("stream_reset", .served, .reset),
    ("stream_reset: refused", .served, .refusedStream),
    ("goaway_credential", .goAway(.badCertificate), .silence),
    ("goaway_credential: environment", .goAway(.badCertificateEnvironment), .silence),
    ("goaway_shutdown, goaway_form", .goAway(.shutdown), .silence),
    ("goaway_shutdown: at a request", .served, .goAway(.shutdown)),
    ("goaway_form: no words", .served, .goAway(nil)), ("connection_lost", .served, .broken),
    ("black_hole: answers; lost_answer", .served, .silence),
    ("black_hole: settings", .silence, .silence),
    ("flow_control", .served, .silence),
    ("tls_failure, dead_address, connect_refused", .refused, .silence),
    ("wrong_clock", .served, .reason(.expiredProviderToken)),
    ("provider_token_refused", .served, .reason(.invalidProviderToken)),
    ("provider_token_refused: renewal", .served, .reason(.tooManyProviderTokenUpdates)),
    ("too_many_requests", .served, .reason(.tooManyRequests)),
    ("service_unavailable", .served, .reason(.serviceUnavailable)),
    ("idle_connection", .goAway(.idleTimeout), .silence),
    ("stream_ids_exhausted", .served, .goAway(nil)),
  ]

  @Test(arguments: ends)
  func `every kind of end, for all connections: at most five connects in 30 s`(
    title: String, connect: ConnectDeed, push: GatewayDeed
  ) {
    for seed in 1...2 as ClosedRange<UInt64> {
      let model = ScriptedDestination(seed: seed)
      model.connect = { _, _ in connect }
      model.push = { _, _, _ in push }
      model.run(milliseconds: 10 * Self.minute)
      #expect(model.mostConnects(within: 30_000) <= 5, "\(title): \(model.connects)")
      #expect(model.deadLettered == 0)
      model.connect = { _, _ in .served }
      model.push = { _, _, _ in .accepted }
      model.renew()
      model.run(milliseconds: 70_000)
      #expect(model.delivered.values.reduce(0, +) > 300, "\(title): it does not come back")
    }
  }

  @Test
  func
    `a gateway that falls silent, PINGs unanswered, is in trouble as one that fails, and stays so`()
  {
    // Longer than a PING and its answer take.
    let model = ScriptedDestination(requestTimeout: 30_000)
    model.run(milliseconds: 10_000)
    #expect(model.trouble == nil)
    model.push = { _, _, _ in .silence }
    model.answersPings = false
    // A PING after ten seconds, and ten for its answer.
    model.run(milliseconds: 22_000)
    for _ in 1...100 {
      #expect(model.trouble == .gateway, "at \(model.now) ms")
      model.run(milliseconds: 1_000)
    }
    #expect(model.deadLettered == 0)
    model.push = { _, _, _ in .accepted }
    model.answersPings = true
    model.run(milliseconds: Self.minute)
    #expect(model.trouble == nil)
  }

  @Test
  func `a gateway to which no connection can be made is in trouble by its connects, and stays so`()
  {
    let model = ScriptedDestination()
    model.run(milliseconds: 10_000)
    model.connect = { _, _ in .refused }
    model.push = { _, _, _ in .broken }
    model.run(milliseconds: 5_000)
    for _ in 1...100 {
      #expect(model.trouble == .connects, "at \(model.now) ms")
      model.run(milliseconds: 1_000)
    }
    model.connect = { _, _ in .served }
    model.push = { _, _, _ in .accepted }
    model.run(milliseconds: 70_000)
    #expect(model.trouble == nil)
  }

  @Test func `an idle destination is in no trouble once the gateway takes connections again`() {
    let model = ScriptedDestination()
    model.supply = 20
    model.run(milliseconds: 20_000)
    #expect(model.delivered[1] == 20 && model.toldTrouble == nil)
    model.connect = { _, _ in .refused }
    model.leave(.shutdown)
    model.run(milliseconds: 30_000)
    #expect(model.toldTrouble == .connects)
    model.connect = { _, _ in .served }
    model.run(milliseconds: 90_000)
    #expect(model.open > 0 && model.toldTrouble == nil)
  }

  @Test
  func `error_disconnect: connections that end after errors, without an accepted push among them`()
  {
    let model = ScriptedDestination()
    var errors: [Int: Int] = [:]
    model.push = { _, connection, _ in
      errors[connection, default: 0] += 1
      return errors[connection]! > 10 ? .goAway(nil) : .reason(.badDeviceToken)
    }
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.mostConnects(within: 30_000) <= 5)
  }

  @Test
  func
    `one connection serves, and every further one is refused: the serving one is no reason to go on trying`()
  {
    let model = ScriptedDestination()
    model.connect = { connection, _ in connection == 1 ? .served : .refused }
    model.run(milliseconds: 2 * Self.minute)
    #expect(model.mostConnects(within: 30_000, from: 1) <= 5, "\(model.connects)")
    #expect(model.delivered[1, default: 0] > 600)
  }

  @Test(arguments: [100, 1_000])
  func `a gateway that ends each connection after so many pushes is no worse for it`(pushes: Int) {
    let good = ScriptedDestination()
    good.run(milliseconds: 5 * Self.minute)
    let model = ScriptedDestination()
    var served: [Int: Int] = [:]
    model.push = { _, connection, _ in
      served[connection, default: 0] += 1
      return served[connection]! > pushes ? .goAway(nil) : .accepted
    }
    model.run(milliseconds: 5 * Self.minute)
    let most = good.delivered[1, default: 0]
    #expect(model.delivered[1, default: 0] > most * 9 / 10, "\(model.delivered) of \(most)")
  }

  @Test func `no push goes out earlier than its answer asked for, in an outage and after it`() {
    let model = ScriptedDestination()
    model.run(milliseconds: 5_000)
    model.retryAfter = 30
    model.push = { _, _, _ in .reason(.serviceUnavailable) }
    model.run(milliseconds: 20_000)
    #expect(model.sentAgain == 0, "a push is in line again although it was asked to wait")
    #expect(model.mostCounted <= 1)
    model.push = { _, _, _ in .accepted }
    model.run(milliseconds: Self.minute)
    #expect(model.sentAgain == 0)
    #expect(model.deadLettered == 0 && model.delivered[1, default: 0] > 300)
  }

  @Test
  func `TooManyProviderTokenUpdates: one push at a time finds out, and no attempt is counted`() {
    let model = ScriptedDestination()
    model.run(milliseconds: 10_000)
    model.push = { _, _, _ in .reason(.tooManyProviderTokenUpdates) }
    model.run(milliseconds: 1_000)
    let underWay = model.sends[1]!
    model.run(milliseconds: 20 * Self.minute)
    #expect(model.sends[1]! - underWay <= 40)
    #expect(model.parked.isEmpty && model.deadLettered == 0 && model.mostCounted <= 1)
    model.push = { _, _, _ in .accepted }
    let before = model.delivered[1, default: 0]
    model.run(milliseconds: 2 * Self.minute)
    #expect(model.delivered[1, default: 0] > before + 300)
  }

  @Test(arguments: [1, 4])
  func `a connect that takes three seconds is one connect`(maximum: Int) {
    let model = ScriptedDestination(pool: .init(minimum: 1, maximum: maximum))
    // As many as are answered within a second once it is there.
    model.supply = 4
    model.connect = { _, now in now < 4_000 ? .silence : .served }
    model.run(milliseconds: 10_000)
    #expect(model.connects.count == 1)
    #expect(model.delivered[1] == 4)
  }

  @Test func `two destinations share nothing: what one refuses does not touch the other`() {
    let one = ScriptedDestination(seed: 1)
    let other = ScriptedDestination(seed: 1)
    one.push = { _, _, _ in .reason(.shutdown) }
    one.run(milliseconds: Self.minute)
    other.run(milliseconds: Self.minute)
    #expect(one.delivered.isEmpty && other.connects.count == 2)
  }

  /// The device registers again after APNs called it dead; its pushes are requested by clocks that are right.
  @Test(arguments: [0, 1_800_000, 3_000_000] as [Int64])
  func `a sender whose clock is ahead does not suppress what is requested after a 410`(
    _ ahead: Int64
  ) {
    let model = ScriptedDestination()
    model.clockAhead = ahead
    model.device = { _ in 1 }
    model.push = { _, _, number in
      number == 1 ? .answer(GatewayResponse(status: 410, reason: .unregistered)) : .accepted
    }
    model.supply = 1
    model.run(milliseconds: 2_000)
    #expect(model.rejected == [1: 1])
    // Within what clocks may differ by, it is.
    model.run(milliseconds: 6 * Self.minute)
    model.supply = 2
    model.run(milliseconds: 2_000)
    #expect(model.suppressed == 0)
    #expect(model.delivered == [1: 1], "ahead by \(ahead) ms")
  }
}
