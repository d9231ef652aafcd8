// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing
import Waiting

@Suite struct ConnectionModelTests {
  private func model(
    _ change: (inout GatewayRules) -> Void = { _ in }, certificate: Bool = false
  ) -> (ConnectionModel, GatewayRules) {
    var rules = GatewayRules()
    change(&rules)
    return (ConnectionModel(hasCertificate: certificate, rules, now: 0), rules)
  }

  @Test func `token mode begins with one stream, a certificate with all`() {
    #expect(model().0.limit == 1)
    #expect(model(certificate: true).0.limit == 1_000)
    #expect(model({ $0.primes = false }).0.limit == 1_000)
  }

  @Test(arguments: [
    (nil, true, GatewayRules.PrimingEnd.success, UInt32?(1_000)),
    (Reason.unregistered, true, .success, 1_000),
    (.badPriority, true, .success, nil),
    (nil, false, .success, nil),
    (.missingProviderToken, false, .authenticated, nil),
  ])
  func `the first valid push lifts the limit`(
    reason: Reason?, isAuthenticated: Bool, ends: GatewayRules.PrimingEnd, limit: UInt32?
  ) {
    var (model, rules) = model { $0.primingEnds = ends }
    let step = model.answered(reason, isAuthenticated: isAuthenticated, rules, now: 0)
    #expect(step == ConnectionStep(limit: limit))
  }

  @Test func `a clock that goes back neither keeps errors nor keeps a connection alive`() {
    let hour: Int64 = 3_600_000
    var rules = GatewayRules()
    rules.errorLimit = 2
    var model = ConnectionModel(hasCertificate: true, rules, now: hour)
    for _ in 0..<2 { _ = model.answered(.badPriority, isAuthenticated: true, rules, now: hour) }
    // A new minute begins; without it these three would be one too many.
    let step = model.answered(.badPriority, isAuthenticated: true, rules, now: 0)
    #expect(step.end == nil)
    let idle = [0, rules.idleTimeout].map { model.isIdle(openStreams: 0, rules, now: $0) }
    #expect(idle == [false, true])
    var rate = ConnectionRate()
    rules.connectionRate = 1
    let admitted = [hour, hour, 0].map { rate.admits("a", rules, now: $0) }
    #expect(admitted == [true, false, true])
  }

  @Test func `a refused push with a valid token lifts it when rules say so`() {
    var (model, rules) = model {
      $0.primingEnds = .authenticated
      $0.throttle = .off
    }
    #expect(model.answered(.badPriority, isAuthenticated: true, rules, now: 0).limit == 1_000)
  }

  @Test func `aggressive: one stream after an error until the next success, 410 exempt`() {
    var (model, rules) = model(certificate: true)
    func answer(_ reason: Reason?) -> UInt32? {
      model.answered(reason, isAuthenticated: true, rules, now: 0).limit
    }
    #expect(answer(.unregistered) == nil)
    #expect(answer(.badPriority) == 1)
    #expect(answer(.badPriority) == nil)
    #expect(answer(.unregistered) == nil)
    #expect(answer(nil) == 1_000)
    #expect(answer(nil) == nil)
  }

  @Test func `gradual: half after each error, double after each success`() {
    var (model, rules) = model({ $0.throttle = .gradual }, certificate: true)
    var limits: [UInt32] = []
    for reason: Reason? in [.badTopic, .badTopic, nil, nil, nil] {
      if let limit = model.answered(reason, isAuthenticated: true, rules, now: 0).limit {
        limits.append(limit)
      }
    }
    #expect(limits == [500, 250, 500, 1_000])
    for _ in 0..<20 { _ = model.answered(.badTopic, isAuthenticated: true, rules, now: 0) }
    #expect(model.limit == 1)
  }

  @Test func `errors within a minute end the connection, bad tokens five times as soon`() {
    var (model, rules) = model {
      $0.errorLimit = 10
      $0.throttle = .off
    }
    for _ in 0..<2 {
      #expect(model.answered(.badDeviceToken, isAuthenticated: true, rules, now: 0).end == nil)
    }
    #expect(model.errorScore == 10)
    #expect(model.answered(.badTopic, isAuthenticated: true, rules, now: 0).end != nil)
    // Said once.
    #expect(model.answered(.badTopic, isAuthenticated: true, rules, now: 0).end == nil)
  }

  @Test func `the score starts again every minute, and never counts a 410`() {
    var (model, rules) = model { $0.errorLimit = 2 }
    for minute in 0..<5 {
      for reason: Reason in [.badTopic, .unregistered, .expiredToken, .badTopic] {
        let step = model.answered(reason, isAuthenticated: true, rules, now: Int64(minute) * 60_000)
        #expect(step.end == nil)
      }
    }
  }

  @Test func `an idle connection ends once, one with open streams never`() {
    var (model, rules) = model { $0.idleTimeout = 1_000 }
    model.received(now: 500)
    #expect(model.isIdle(openStreams: 0, rules, now: 1_499) == false)
    #expect(model.isIdle(openStreams: 1, rules, now: 9_999) == false)
    #expect(model.isIdle(openStreams: 0, rules, now: 1_500) == true)
    #expect(model.isIdle(openStreams: 0, rules, now: 1_501) == false)
    var (patient, never) = self.model { $0.idleTimeout = 0 }
    #expect(patient.isIdle(openStreams: 0, never, now: .max) == false)
  }

  @Test func `new rules move the limit of a connection that is open`() {
    var (model, rules) = model(certificate: true)
    rules.maxConcurrentStreams = 50
    #expect(model.changed(rules) == 50)
    #expect(model.changed(rules) == nil)
    var (fresh, _) = self.model()
    #expect(fresh.changed(rules) == nil)
    rules.primes = false
    #expect(fresh.changed(rules) == 50)
  }

  @Test func `seeded runs: every change of the limit is announced, and it stays within its bounds`()
  {
    for seed in UInt64(1)...200 {
      var random = SeededGenerator(seed: seed)
      var rules = GatewayRules()
      rules.throttle = [.aggressive, .gradual, .off][Int(random.next() % 3)]
      rules.maxConcurrentStreams = UInt32(1 + random.next() % 2_000)
      rules.errorLimit = 0
      var model = ConnectionModel(hasCertificate: random.next() % 2 == 0, rules, now: 0)
      var told = model.limit
      for _ in 0..<500 {
        let all = Reason.allCases
        let reason = random.next() % 3 == 0 ? all[Int(random.next() % UInt64(all.count))] : nil
        let step = model.answered(reason, isAuthenticated: random.next() % 2 == 0, rules, now: 0)
        if let limit = step.limit {
          #expect(limit != told, "seed \(seed)")
          told = limit
        }
        #expect(model.limit == told, "seed \(seed)")
        #expect((1...rules.maxConcurrentStreams).contains(told), "seed \(seed)")
      }
    }
  }

  @Test func `connections of one address are counted by the minute`() {
    var rules = GatewayRules()
    rules.connectionRate = 2
    var rate = ConnectionRate()
    let answers = [0, 1, 2, 60_000].map { rate.admits("192.0.2.1", rules, now: $0 + 60_000) }
    #expect(answers == [true, true, false, true])
    #expect(rate.admits("192.0.2.2", rules, now: 120_000) == true)
  }
}
