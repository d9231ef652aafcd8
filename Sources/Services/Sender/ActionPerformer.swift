// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import EventLoop
import Records
import ServiceKit

/// Does what a loop's `Dispatcher` wants done, with the sockets, bytes and mailboxes that its numbers stand for.
///
/// Owner: one sender loop.
final class ActionPerformer {
  private let log: Logger
  private let gateways: Gateways
  private let outcomes: OutcomeWriter
  private let reports: ControlReports
  /// What could not be done: pushes whose connection had no stream, connections that could not be begun.
  @exclusivity(unchecked) private var undone: (pushes: [UInt32], connections: [Int32]) = ([], [])
  /// The GOAWAY that is being handled.
  var goAway: GoAwayReason?

  init(
    _ log: Logger, _ gateways: Gateways, _ outcomes: OutcomeWriter, _ reports: ControlReports
  ) {
    self.log = log
    self.gateways = gateways
    self.outcomes = outcomes
    self.reports = reports
  }

  /// Performs all actions, in their order. What could not be done is told when everything else is.
  func perform(_ dispatcher: inout Dispatcher, _ queues: borrowing PartitionQueues) {
    while true {
      while let action = dispatcher.nextAction() { perform(action, &dispatcher, queues) }
      if undone.pushes.isEmpty, undone.connections.isEmpty { return }
      if let slot = undone.pushes.popLast() {
        dispatcher.notSent(slot)
      } else if let connection = undone.connections.popLast() {
        dispatcher.notOpened(connection)
      }
    }
  }

  // MARK: Pushes and connections

  /// The dispatcher is read only; borrowed instead it would be passed as a copy.
  private func perform(
    _ action: Action, _ dispatcher: inout Dispatcher, _ queues: borrowing PartitionQueues
  ) {
    switch action {
    case .send(let slot, let connection):
      if !gateways.send(outcomes[slot], on: connection) { undone.pushes.append(slot) }
    case .receipt(let slot, let outcome, let cause, let isAnswered):
      outcomes.finish(
        slot, outcome, cause, isAnswered: isAnswered, dispatcher.ending(slot))
    case .feedback(let slot): outcomes.writeFeedback(slot, dispatcher.work.pushes[slot])
    case .park(let slot, let tier, let reason):
      outcomes.park(slot, tier, reason, dispatcher.work.pushes[slot])
    case .deadLetter(let slot, let reason, let cause, let isAnswered):
      let state = dispatcher.work.pushes[slot]
      outcomes.deadLetter(
        slot, reason, cause, isAnswered: isAnswered, state,
        from: queues.name(Int(state.origin.partition)))
    case .handBack(let slot): outcomes.drop(slot)
    case .reset(let slot, let connection): gateways.reset(outcomes[slot], on: connection)
    case .open(let connection): open(connection, dispatcher)
    case .changeToken(let connection): gateways.connection(connection)?.changeToken()
    case .ping(let connection): gateways.ping(connection)
    case .close(let connection): gateways.close(connection)
    case .abandon(let connection): gateways.abandon(connection)
    default: performForPool(action, dispatcher)
    }
  }

  private func open(_ connection: Int32, _ dispatcher: borrowing Dispatcher) {
    let state = dispatcher.destinations.pools.connections[connection]
    if !gateways.open(connection, to: state.address, of: state.pool) {
      undone.connections.append(connection)
    }
  }

  // MARK: Pools

  private func performForPool(_ action: Action, _ dispatcher: borrowing Dispatcher) {
    switch action {
    case .lookUp(let pool, let seed): gateways.lookUp(pool, seed: seed)
    case .openPool(let pool):
      gateways.addPool(
        pool, dispatcher.destinations.pools[pool], dispatcher.destinations.credentials.tokens)
    case .authorize(let pool):
      let state = dispatcher.destinations.pools[pool]
      gateways.pool(pool).authorization =
        state.token == nil ? nil : Authorization(token: state.tokenBytes)
    case .retirePool(let number):
      let pool = gateways.pool(number)
      log.info(
        "credential withdrawn; its connections drain",
        ["credential": pool.credential, "environment": "\(pool.environment)"])
    case .removePool(let pool): gateways.removePool(pool)
    case .reportRefusal(let pool, let slot):
      report(refusalBy: gateways.pool(pool), of: slot, now: dispatcher.turn.now)
    case .reportRefusingAddress(let pool, let slot):
      report(gateways.pool(pool), refusingAt: dispatcher.work.pushes[slot].failedAddress)
    default: report(action, at: dispatcher.turn.wall)
    }
  }

  // MARK: What somebody should know

  private func report(_ action: Action, at wall: Int64) {
    switch action {
    case .requestToken(let pool):
      reports.requestToken(gateways.pool(pool), reason: refusal, at: wall)
    case .requestAppToken(let slot): reports.requestToken(forAppOf: outcomes[slot], at: wall)
    case .reportSilence(let number):
      guard let connection = gateways.connection(number) else { return }
      log.warning(
        "a connection does not answer; closing it", ["gateway": "\(connection.address)"])
    case .reportForeignAnswer(let number): reportForeignAnswer(number)
    default: preconditionFailure("an action that nobody performs")
    }
  }

  private func report(_ pool: GatewayPool, refusingAt address: PeerAddress?) {
    guard let address else { return }
    log.warning(
      "an address refuses a credential that another address accepts; it is put aside",
      [
        "gateway": "\(pool.gateway)", "address": "\(SocketAddress(address))",
        "credential": pool.credential,
      ])
  }

  private func reportForeignAnswer(_ number: Int32) {
    guard let connection = gateways.connection(number), let answer = outcomes.answer else { return }
    log.error(
      "an answer is not of APNs: something on the way gave it. Its connection is left if that comes again; the"
        + " notification is sent again",
      [
        "gateway": "\(connection.pool.gateway)", "address": "\(connection.address)",
        "status": "\(answer.response.status)", "reason": answer.reasonText, "body": answer.excerpt,
      ])
  }

  /// APNs refuses a pool's credential, or the app of a push with it.
  private func report(refusalBy pool: GatewayPool, of slot: UInt32?, now: UInt64) {
    let app = slot.map { outcomes[$0].pointee.appName }
    let reason = goAway.map(\.reason) ?? outcomes.answer?.response.reason
    pool.refusals.note(app, reason?.name ?? "Other", now: now)
    reports.reportRefusal(pool, app: app, refusal)
  }

  /// What APNs says is wrong with a credential.
  private var refusal: String {
    if let goAway { return goAway.text }
    guard let response = outcomes.answer?.response else { return "" }
    return response.reason?.name ?? "\(response.status)"
  }
}
