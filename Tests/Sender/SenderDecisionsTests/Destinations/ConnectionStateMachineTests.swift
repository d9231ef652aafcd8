// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing
import Waiting

@Suite struct ConnectionStateMachineTests {
  private typealias Machine = ConnectionStateMachine

  /// A connection that has accepted a push and has this limit.
  private func ready(limit: Int = 100) -> ConnectionStateMachine {
    var machine = Machine(authentication: .providerToken)
    machine.connected()
    machine.settings(limit: limit)
    machine.opened(now: 0)
    #expect(machine.accepted() == .nothing)
    return machine
  }

  private func open(_ machine: inout ConnectionStateMachine, _ count: Int) {
    for _ in 0..<count { machine.opened(now: 0) }
  }

  @Test func `a connection opens nothing before it is connected`() {
    var machine = Machine(authentication: .providerToken)
    machine.settings(limit: 1_000)
    #expect(machine.credit == 0)
    machine.connected()
    #expect(machine.state == .priming)
  }

  @Test func `a connection with a token has one stream until the first accepted push`() {
    var machine = Machine(authentication: .providerToken)
    machine.connected()
    machine.settings(limit: 1_000)
    #expect(machine.credit == 1)
    machine.opened(now: 0)
    #expect(machine.credit == 0)
    #expect(machine.answered(status: 400, connection: .keep) == .nothing)
    #expect(machine.state == .priming, "a rejection does not lift the limit")
    #expect(machine.credit == 1)
    machine.opened(now: 0)
    #expect(machine.accepted() == .nothing)
    #expect(machine.state == .ready)
    #expect(machine.credit == 1_000)
  }

  @Test func `a connection with a certificate has the full limit at once, but not before SETTINGS`()
  {
    var machine = Machine(authentication: .certificate)
    machine.connected()
    #expect(machine.state == .ready)
    #expect(machine.credit == 1)
    machine.settings(limit: 500)
    #expect(machine.credit == 500)
  }

  @Test func `a connection follows the limit down to one and zero and up again`() {
    var machine = ready(limit: 10)
    open(&machine, 8)
    #expect(machine.credit == 2)
    machine.settings(limit: 1)
    #expect(machine.credit == 0)
    #expect(machine.openStreams == 8, "open streams stay")
    machine.settings(limit: 0)
    for _ in 0..<8 { #expect(machine.answered(status: 200, connection: .keep) == .nothing) }
    #expect(machine.credit == 0)
    machine.settings(limit: 20)
    #expect(machine.credit == 20)
  }

  @Test func `a refused stream gives its credit back`() {
    var machine = ready(limit: 3)
    open(&machine, 3)
    machine.settings(limit: 2)
    #expect(machine.refused() == .nothing)
    #expect(machine.credit == 0)
    #expect(machine.refused() == .nothing)
    #expect(machine.credit == 1)
  }

  @Test func `GOAWAY waits for the open streams and then closes`() {
    var machine = ready()
    open(&machine, 2)
    #expect(machine.goAway() == .nothing)
    #expect(machine.state == .draining)
    #expect(machine.credit == 0)
    #expect(machine.goAway() == .nothing, "a second GOAWAY changes nothing")
    #expect(machine.refused() == .nothing)
    #expect(machine.answered(status: 200, connection: .keep) == .close)
    #expect(machine.state == .closed)
    #expect(machine.goAway() == .nothing)
  }

  @Test func `GOAWAY with nothing open closes at once`() {
    var machine = ready()
    #expect(machine.goAway() == .close)
  }

  @Test func `the decision table closes or drains`() {
    var closing = ready()
    open(&closing, 2)
    #expect(closing.answered(status: 403, connection: .close) == .nothing)
    #expect(closing.state == .draining, "what is open may still be answered")
    #expect(closing.endReason == .abandoned)
    var answered = closing
    #expect(answered.answered(status: 200, connection: .keep) == .close)
    #expect(answered.graceOver() == .nothing)
    #expect(closing.graceOver() == .close)
    var draining = ready()
    open(&draining, 2)
    #expect(draining.answered(status: 429, connection: .drain) == .nothing)
    #expect(draining.state == .draining)
    #expect(draining.graceOver() == .nothing, "it serves what it has")
    #expect(draining.answered(status: 200, connection: .keep) == .close)
  }

  @Test func `the first reason to end stays, but silence, a dismissal and a lost race say more`() {
    func reason(_ events: ((inout Machine) -> Void)...) -> Machine.EndReason? {
      var machine = ready()
      open(&machine, 2)
      for event in events { event(&machine) }
      return machine.endReason
    }
    let retire: (inout Machine) -> Void = { _ = $0.retire() }
    let goAway: (inout Machine) -> Void = { _ = $0.goAway(isInOrder: true) }
    let silence: (inout Machine) -> Void = { _ = $0.pingTimedOut() }
    #expect(reason({ _ = $0.goAway() }) == nil, "an error is no reason of its own")
    #expect(reason(retire, goAway) == .retired && reason(goAway, retire) == .goAway)
    #expect(reason(retire, silence) == .silent && reason(goAway, silence) == .silent)
    #expect(reason({ $0.giveUp() }, retire) == .retired)
    #expect(reason({ $0.giveUp() }, { $0.beaten() }, retire) == .beaten)
  }

  @Test func `TLS alone allows no request`() {
    var machine = Machine(authentication: .certificate)
    machine.secured()
    #expect(machine.state == .negotiating && machine.credit == 0)
    machine.settings(limit: 100)
    machine.connected()
    machine.secured()
    #expect(machine.state == .ready && machine.credit == 100)
  }

  @Test func `server faults in a row close but not scattered ones`() {
    var machine = ready()
    open(&machine, 20)
    for _ in 0..<4 {
      #expect(machine.answered(status: 500, connection: .closeIfRepeated) == .nothing)
    }
    #expect(machine.answered(status: 200, connection: .keep) == .nothing)
    for _ in 0..<4 {
      #expect(machine.answered(status: 500, connection: .closeIfRepeated) == .nothing)
    }
    #expect(machine.state == .ready)
    #expect(machine.answered(status: 500, connection: .closeIfRepeated) == .nothing)
    #expect(machine.endReason == .abandoned && machine.state == .draining)
  }

  @Test func `silence makes it suspect and an answer clears it`() {
    var machine = ready()
    open(&machine, 2)
    #expect(machine.silent() == .ping)
    #expect(machine.state == .suspect)
    #expect(machine.credit == 0)
    #expect(machine.silent() == .nothing)
    #expect(machine.ponged() == .nothing)
    #expect(machine.state == .ready)
    #expect(machine.silent() == .ping)
    #expect(machine.answered(status: 200, connection: .keep) == .nothing)
    #expect(machine.state == .ready)
    #expect(machine.silent() == .ping)
    #expect(machine.pingTimedOut() == .close)
    #expect(machine.pingTimedOut() == .nothing)
  }

  @Test func `a suspect priming connection goes back to priming`() {
    var machine = Machine(authentication: .providerToken)
    machine.connected()
    machine.opened(now: 0)
    #expect(machine.silent() == .ping)
    #expect(machine.ponged() == .nothing)
    #expect(machine.state == .priming)
  }

  @Test func `one silent stream among healthy ones is no reason`() {
    var machine = ready()
    open(&machine, 10)
    for _ in 0..<5 {
      #expect(machine.timedOut() == .nothing)
      #expect(machine.answered(status: 200, connection: .keep) == .nothing)
    }
    #expect(machine.state == .ready)
  }

  @Test func `requests that keep timing out drain it although pings are answered`() {
    var machine = ready()
    open(&machine, 5)
    #expect(machine.timedOut() == .nothing)
    #expect(machine.timedOut() == .nothing)
    #expect(machine.timedOut() == .ping)
    #expect(machine.state == .suspect)
    #expect(machine.ponged() == .nothing)
    #expect(machine.state == .suspect, "a pong alone does not show that requests are answered")
    #expect(machine.timedOut() == .nothing)
    #expect(machine.state == .draining)
    #expect(machine.timedOut() == .close)
  }

  @Test func `an idle suspect that answers pings but no requests is replaced`() {
    var machine = ready()
    open(&machine, 3)
    _ = machine.timedOut()
    _ = machine.timedOut()
    #expect(machine.timedOut() == .ping)
    #expect(machine.ponged() == .close, "it would stay suspect for ever")
  }

  @Test(arguments: [true, false])
  func `a suspect whose last stream is reset or refused after its pong is replaced`(
    isReset: Bool
  ) {
    var machine = ready()
    open(&machine, 5)
    for _ in 0..<3 { _ = machine.timedOut() }
    #expect(machine.ponged() == .nothing && machine.reset() == .nothing)
    #expect(machine.state == .suspect, "what is open may still be answered")
    #expect((isReset ? machine.reset() : machine.refused()) == .close)
  }

  @Test func `a peer that keeps refusing what it allows is left`() {
    var machine = ready()
    open(&machine, 1)
    for _ in 1..<Machine.repeatedRefusals {
      open(&machine, 1)
      #expect(machine.refused() == .nothing)
    }
    #expect(machine.state == .ready, "what is open may still be answered")
    open(&machine, 1)
    #expect(machine.refused() == .nothing && machine.state == .draining)
    var alone = ready()
    for _ in 1..<Machine.repeatedRefusalsAlone {
      open(&alone, 1)
      #expect(alone.refused() == .nothing)
    }
    open(&alone, 1)
    #expect(alone.refused() == .close)
  }

  @Test func `a peer that resets whatever is open is left, and not one that answers others`() {
    var machine = ready()
    open(&machine, 10)
    for _ in 0..<9 { #expect(machine.reset() == .nothing) }
    #expect(machine.state == .ready, "what is open may still be answered")
    #expect(machine.answered(status: 200, connection: .keep) == .nothing)
    for _ in 1..<Machine.repeatedFailures {
      open(&machine, 1)
      #expect(machine.reset() == .nothing)
    }
    open(&machine, 1)
    #expect(machine.reset() == .close)
    var busy = ready()
    open(&busy, 1)
    for _ in 1..<Machine.repeatedRefusals {
      open(&busy, 1)
      #expect(busy.reset() == .nothing)
    }
    #expect(busy.state == .ready)
    open(&busy, 1)
    #expect(busy.reset() == .nothing && busy.state == .draining, "some stream is always open")
    var lost = ready()
    open(&lost, 10)
    for _ in 0..<10 { #expect(lost.reset(isLost: true) == .nothing) }
  }

  @Test func `streams that crossed a falling limit are no reason to leave`() {
    var machine = ready()
    open(&machine, 500)
    machine.settings(limit: 1)
    for _ in 0..<499 { #expect(machine.refused() == .nothing) }
    #expect(machine.state == .ready)
  }

  @Test func `a connection serves so many requests and no more`() {
    var machine = Machine(authentication: .certificate, maximumStreams: 3)
    machine.settings(limit: 100)
    machine.connected()
    open(&machine, 3)
    #expect(machine.state == .draining)
    #expect(machine.endReason == .retired, "its end says nothing about the destination")
    #expect(machine.credit == 0)
    for left in [2, 1, 0] {
      #expect(
        machine.answered(status: 200, connection: .keep) == (left == 0 ? .close : .nothing))
    }
  }

  @Test func `a connection that allows no stream owes a sign of life`() {
    var machine = Machine(authentication: .certificate)
    machine.settings(limit: 0)
    #expect(!machine.owesSignOfLife, "it is not connected yet")
    machine.connected()
    #expect(machine.owesSignOfLife, "a dead peer would hold its place for ever")
    #expect(machine.silent() == .ping)
    machine.settings(limit: 5)
    _ = machine.ponged()
    #expect(machine.state == .ready)
    #expect(!machine.owesSignOfLife)
    machine.opened(now: 0)
    #expect(machine.owesSignOfLife)
  }

  @Test func `the first token is taken and kept for 20 minutes`() {
    var machine = Machine(authentication: .providerToken)
    let minute: Int64 = 60_000
    let first = ProviderTokenStamp(issuedAt: 0, generation: 1)
    let second = ProviderTokenStamp(issuedAt: 45 * 60, generation: 2)
    #expect(machine.chooseToken(newest: first, now: 30 * minute) == .newest)
    machine.opened(now: 30 * minute)
    #expect(machine.chooseToken(newest: first, now: 31 * minute) == .current)
    #expect(machine.chooseToken(newest: second, now: 45 * minute) == .current)
    #expect(machine.token == first)
    // A minute more than APNs' 20: the clock may have been set forward meanwhile.
    #expect(machine.chooseToken(newest: second, now: 51 * minute - 1) == .current)
    #expect(machine.chooseToken(newest: second, now: 51 * minute) == .newest)
    #expect(machine.token == second)
    #expect(machine.chooseToken(newest: first, now: 52 * minute) == .current, "never back")
    #expect(machine.token == second)
  }

  /// It is chosen before it is known whether a push goes out: APNs counts from the first one that carries it.
  @Test func `the time of a token begins with its first push`() {
    var machine = ready()
    let minute: Int64 = 60_000
    let tokens = (0...2).map { ProviderTokenStamp(issuedAt: $0 * 20 * 60, generation: 1) }
    #expect(machine.chooseToken(newest: tokens[0], now: 0) == .newest)
    #expect(machine.chooseToken(newest: tokens[1], now: 20 * minute) == .newest, "not used yet")
    machine.opened(now: 30 * minute)
    machine.opened(now: 35 * minute)
    #expect(machine.chooseToken(newest: tokens[2], now: 42 * minute) == .current)
    #expect(machine.chooseToken(newest: tokens[2], now: 51 * minute) == .newest)
  }

  @Test func `rather than two tokens within 20 minutes the connection is given up`() {
    var machine = ready()
    let minute: Int64 = 60_000
    let first = ProviderTokenStamp(issuedAt: 0, generation: 1)
    let second = ProviderTokenStamp(issuedAt: 45 * 60, generation: 2)
    #expect(machine.chooseToken(newest: first, now: 44 * minute) == .newest)
    machine.opened(now: 44 * minute)
    #expect(machine.chooseToken(newest: second, now: 54 * minute) == .current)
    #expect(machine.chooseToken(newest: second, now: 55 * minute) == .none)
    #expect(machine.state == .draining)
  }

  @Test func `without a usable token the connection waits`() {
    var machine = ready()
    let old = ProviderTokenStamp(issuedAt: 0, generation: 1)
    #expect(machine.chooseToken(newest: old, now: 55 * 60_000) == .none)
    #expect(machine.token == nil)
    #expect(machine.state == .ready)
    #expect(machine.chooseToken(newest: old, now: 54 * 60_000) == .newest)
    #expect(machine.chooseToken(newest: old, now: 56 * 60_000) == .none)
    #expect(machine.state == .ready, "nothing newer to replace it with: hold")
  }

  /// Any events in any order: never above the limit, every stream ends once, tokens only forward and not
  /// twice within 20 minutes, closed stays closed.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func `a connection keeps its promises in any order of events`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for round in 0..<10 {
      var run = ConnectionRun(random: &random)
      for step in 0..<2_000 {
        if let broken = run.step(&random) {
          Issue.record("seed \(seed), round \(round), step \(step): \(broken)")
          return
        }
      }
    }
  }
}
