// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Waiting

/// One connection under random events, with what has to hold.
struct ConnectionRun {
  var machine: ConnectionStateMachine
  var limit = 1
  var open = 0
  var accepted = false
  var now: Int64 = 1_000_000
  var newest = ProviderTokenStamp(issuedAt: 0, generation: 0)
  var switchedAt: Int64?
  var wasClosed = false

  init(random: inout SeededGenerator) {
    machine = .init(authentication: random.oneIn(3) ? .certificate : .providerToken)
  }

  mutating func step(_ random: inout SeededGenerator) -> String? {
    now += Int64(random.below(20_000))
    if newest.issuedAt * 1_000 + 45 * 60_000 < now, random.oneIn(20) {
      newest = .init(issuedAt: now / 1_000 - 5, generation: newest.generation + 1)
    }
    let action = event(&random)
    if action == .close {
      if wasClosed { return "closed twice" }
      wasClosed = true
    }
    return broken() ?? chooseToken()
  }

  private mutating func event(_ random: inout SeededGenerator) -> ConnectionStateMachine.Action {
    switch random.below(200) {
    case 0..<3: machine.connected()
    case 3..<6:
      limit = random.oneIn(3) ? random.below(2) : random.below(50)
      machine.settings(limit: limit)
    case 6: if random.oneIn(8) { return machine.goAway() }
    case 7..<9: return machine.silent()
    case 9..<12: return machine.ponged()
    case 12: if random.oneIn(8) { return machine.pingTimedOut() }
    case 13: if random.oneIn(20) { machine.closed() }
    case 14: if random.oneIn(20) { return machine.retire() }
    case 15: if random.oneIn(2) { return machine.graceOver() }
    case 16..<100:
      if machine.credit > 0 {
        open += 1
        machine.opened(now: 0)
      }
    default: return end(&random)
    }
    return .nothing
  }

  private mutating func end(_ random: inout SeededGenerator) -> ConnectionStateMachine.Action {
    guard open > 0 else { return .nothing }
    open -= 1
    switch random.below(40) {
    case 0: return machine.refused()
    case 1: return machine.reset()
    case 2..<4: return machine.timedOut()
    case 4: return machine.answered(status: 500, connection: .closeIfRepeated)
    case 5: return machine.answered(status: 400, connection: .keep)
    case 6: if random.oneIn(9) { return machine.answered(status: 429, connection: .drain) }
    case 7: if random.oneIn(9) { return machine.answered(status: 503, connection: .close) }
    default: break
    }
    accepted = true
    return random.oneIn(2)
      ? machine.accepted() : machine.answered(status: 200, connection: .keep)
  }

  private func broken() -> String? {
    if machine.openStreams != open { return "streams miscounted" }
    if machine.credit < 0 { return "negative credit" }
    if machine.credit > 0 && open + machine.credit > max(limit, 1) { return "above the limit" }
    if limit == 0 && machine.credit > 0 { return "credit with a limit of 0" }
    if machine.authentication == .providerToken && !accepted && open + machine.credit > 1 {
      return "more than one stream before the first accepted push"
    }
    if wasClosed && machine.state != .closed { return "closed and came back" }
    if machine.state == .draining && open == 0 { return "drained and not closed" }
    return nil
  }

  private mutating func chooseToken() -> String? {
    let before = machine.token
    switch machine.chooseToken(newest: newest, now: now) {
    case .current:
      guard let token = machine.token, token == before else { return "no current token" }
      if !token.isUsable(now: now) { return "a token older than 55 minutes" }
    case .newest:
      if machine.token != newest || !newest.isUsable(now: now) { return "a wrong token" }
      if let before, before >= newest { return "a token went back" }
      if let since = switchedAt, now - since < 20 * 60_000 { return "two within 20 minutes" }
      switchedAt = now
    case .none:
      // Draining by the choice itself: the owner learns of it from the state.
      if machine.state == .draining && open == 0 && machine.retire() == .close { wasClosed = true }
    }
    return nil
  }
}
