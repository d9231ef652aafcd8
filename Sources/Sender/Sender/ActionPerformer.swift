// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import SenderDecisions
import ServiceKit
import Telemetry

/// Does what a loop's `Dispatcher` wants done, with the sockets, bytes and mailboxes that its numbers stand for.
///
/// Owner: one sender loop.
final class ActionPerformer {
  private let log: Logger
  private let gateways: GatewayPools
  private let outcomes: OutcomeWriter
  private let reports: ControlReports
  /// What could not be done: pushes whose connection had no stream, connections that could not be begun.
  @exclusivity(unchecked) private var undone: (pushes: [UInt32], connections: [ConnectionID]) = (
    [], []
  )

  init(
    _ log: Logger, _ gateways: GatewayPools, _ outcomes: OutcomeWriter, _ reports: ControlReports
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
        dispatcher.handle(.notOpened, of: connection)
      }
    }
  }

  /// The dispatcher is read only; borrowed instead it would be passed as a copy.
  private func perform(
    _ action: Action, _ dispatcher: inout Dispatcher, _ queues: borrowing PartitionQueues
  ) {
    switch action {
    case .send(let slot, let id):
      if !gateways.send(outcomes[slot], on: id) { undone.pushes.append(slot) }
    case .delivered(let slot, let ending): outcomes.finish(slot, .delivered, nil, nil, ending)
    case .receipt(let slot, let outcome, let cause, let answer, let ending):
      outcomes.finish(slot, outcome, cause, answer, ending)
    case .feedback(let slot, let answer):
      outcomes.writeFeedback(slot, answer, dispatcher.push(slot))
    case .park(let slot, let tier, let reason):
      let state = dispatcher.push(slot)
      outcomes.park(slot, tier, reason, state, from: queues.name(Int(state.origin.partition)))
    case .returnToLane(let slot, let tier):
      let state = dispatcher.push(slot)
      outcomes.returnToLane(slot, state, queues.name(Int(state.origin.partition)), tier)
    case .exchange(let slot, let other): outcomes.exchange(slot, other)
    case .deadLetter(let slot, let reason, let cause, let answer):
      let state = dispatcher.push(slot)
      outcomes.deadLetter(
        slot, reason, cause, answer, state, from: queues.name(Int(state.origin.partition)))
    case .handBack(let slot): outcomes.drop(slot)
    case .reset(let slot, let id): gateways.reset(outcomes[slot], on: id)
    case .open(let id):
      if !gateways.open(id, to: dispatcher.connection(id).address) { undone.connections.append(id) }
    case .changeToken(let id): gateways.connection(id)?.changeToken()
    case .ping(let id): gateways.ping(id)
    case .close(let id): gateways.close(id)
    case .abandon(let id): gateways.abandon(id)
    case .lookUp(let pool, let seed): gateways.lookUp(pool, seed: seed)
    case .openPool(let pool): gateways.addPool(pool, &dispatcher)
    case .authorize(let pool):
      gateways.pool(pool).authorization = dispatcher.token(ofPool: pool).map(Authorization.init)
    case .retirePool(let pool): reportWithdrawal(of: gateways.pool(pool))
    case .removePool(let pool): gateways.removePool(pool)
    case .requestToken(let pool, let answer):
      reports.requestToken(
        gateways.pool(pool), reason: Self.words(of: answer), at: dispatcher.wall)
    case .requestAppToken(let slot):
      reports.requestToken(forAppOf: outcomes[slot], at: dispatcher.wall)
    case .reportRefusal(let pool, let slot, let answer):
      report(refusalBy: gateways.pool(pool), of: slot, answer, now: dispatcher.now)
    case .reportSilence(let id): reportSilence(of: gateways.connection(id))
    case .reportRefusingAddress(let pool, let address):
      report(address, refusing: gateways.pool(pool))
    case .reportForeignAnswer(let slot, let id, let response):
      report(outcomes.answer(response, to: slot), foreignOn: gateways.connection(id))
    }
  }

  // MARK: What somebody should know

  @inline(never)
  private func reportWithdrawal(of pool: GatewayPool) {
    log(
      SenderLog.credentialDrains,
      ["credential": pool.credential, "environment": "\(pool.environment)"])
  }

  @inline(never)
  private func reportSilence(of connection: GatewayConnection?) {
    guard let connection else { return }
    gateways.report(.connectionSilent, of: "\(connection.pool.gateway)", connection.place)
  }

  @inline(never)
  private func report(_ address: PeerAddress, refusing pool: GatewayPool) {
    log(
      SenderLog.addressRefuses,
      [
        "gateway": "\(pool.gateway)", "address": "\(SocketAddress(address))",
        "credential": pool.credential,
      ])
  }

  @inline(never)
  private func report(_ answer: GatewayAnswer, foreignOn connection: GatewayConnection?) {
    guard let connection else { return }
    log(
      SenderLog.strangeResponse,
      [
        "gateway": "\(connection.pool.gateway)", "address": "\(connection.address)",
        "status": "\(answer.response.status)", "reason": answer.reasonText, "body": answer.excerpt,
      ])
  }

  /// APNs refuses a pool's credential, or the app of a push with it.
  @inline(never)
  private func report(
    refusalBy pool: GatewayPool, of slot: UInt32?, _ answer: GatewayResponse, now: UInt64
  ) {
    let app = slot.map { outcomes[$0].pointee.appName }
    pool.refusals.note(app, answer.reason?.name ?? "Other", now: now)
    reports.reportRefusal(pool, app: app, Self.words(of: answer))
  }

  /// What APNs says is wrong with a credential.
  private static func words(of answer: GatewayResponse) -> String {
    answer.reason?.name ?? "\(answer.status)"
  }
}
