// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// What must hold whenever a push is sent or ends, or a connection is opened or closed.
extension LoopModel {
  /// What must hold whenever a push goes out.
  func judgeSend(_ slot: UInt32, _ push: TakenPush, _ id: ConnectionID, _ world: inout World) {
    if push.facts.expiresAt <= world.wall { world.kafka.fail("a push was sent that has expired") }
    if world.wall - push.facts.created > settings.lanes[push.facts.lane].maxAge {
      world.kafka.fail("a push was sent that is too old")
    }
    let device = DeviceOfApp(app: push.facts.app, device: push.facts.device)
    if let before = released[device], push.facts.created < before {
      world.kafka.fail("a push was sent to a device that is not any more whose it was")
    }
    let connected = connections[id]!
    if connected.open.count >= connected.limit { world.kafka.fail("a stream above the limit") }
    if closing.contains(id) { world.kafka.fail("a push was sent on a connection to be closed") }
    if let token = connected.token, world.wall / 1_000 - token.issuedAt >= 55 * 60 {
      world.kafka.fail("a token of 55 minutes was used")
    }
    if let token = connected.token, token.issuedAt > world.wall / 1_000 + 61 {
      world.kafka.fail("a token of a clock that is ahead was used")
    }
    // One more than the limit: a send that is spared afterwards counts until then.
    if dispatcher.push(slot).life.countedAttempts > settings.maxAttempts {
      world.kafka.fail("a push is sent once more after its last attempt")
    }
    noteSend(id.pool, &world)
    guard isOrdered else { return }
    for (_, other) in connections {
      for open in other.open where taken[open]?.facts.device == push.facts.device {
        world.kafka.fail("two pushes of one device are open")
      }
    }
  }

  /// What ends for its device: only where somebody has said that this is not any more whose it was.
  func judgeSuppressed(_ slot: UInt32, _ cause: ReceiptCause?, _ world: inout World) {
    guard cause == .removed || cause == .ownerChanged, let facts = taken[slot]?.facts else {
      return
    }
    let device = DeviceOfApp(app: facts.app, device: facts.device)
    if facts.created >= released[device] ?? .min {
      world.kafka.fail("a push was suppressed that was requested for its device's owner")
    }
  }

  /// A gateway that answers everybody with 503 sees few pushes.
  func noteSend(_ pool: Int32, _ world: inout World) {
    guard let since = world.unavailableSince, world.now >= since + 30_000 else {
      sends[pool] = nil
      return
    }
    sends[pool, default: []].append(world.now)
    sends[pool]!.removeAll { world.now - $0 >= 10_000 }
    if sends[pool]!.count > 60 {
      world.kafka.fail("\(sends[pool]!.count) pushes in 10 s to a gateway that is unavailable")
    }
  }

  /// First sends to a device leave in the order of their records.
  func judgeOrder(_ slot: UInt32, _ push: TakenPush, _ world: inout World) {
    let origin = dispatcher.push(slot).origin
    guard !push.wasSent, push.facts.attempt == 0, origin.epoch == dispatcher.epoch,
      push.log == places[Int(origin.partition)].log
    else { return }
    let last = lastSent[push.place]?[push.facts.device] ?? -1
    if origin.offset < last { world.kafka.fail("a device's pushes were sent out of order") }
    lastSent[push.place, default: [:]][push.facts.device] = origin.offset
  }

  /// Whether an app's pushes go to this pool as long as all credentials are there; some may still wait in another one.
  private func serves(_ pool: Int32, _ app: UInt64) -> Bool {
    guard case .token(let index)? = dispatcher.standing(ofPool: pool)?.credential else {
      return app == Simulation.apps.last
    }
    let key = "key\(Simulation.credential(of: app))"
    return dispatcher.credential(index) == key && app != Simulation.apps.last
  }

  func noteAccepted(_ slot: UInt32, by pool: Int32, _ now: UInt64) {
    connects[pool] = []
    // While credentials change, what was sent with the one before says nothing about the next one.
    guard let app = taken[slot]?.facts.app, now >= tokensAppliedAt + 60_000, serves(pool, app)
    else { return }
    acceptedAt[app] = now
  }

  /// A destination that turns all connections away sees few of them: each search tries every address once.
  func noteConnect(_ pool: Int32, to address: Int, _ world: inout World) {
    connects[pool, default: []].append((world.now, address))
    connects[pool]!.removeAll { world.now - $0.at >= 30_000 }
    let count = connects[pool]!.count { $0.address == address }
    if count > 5 + settings.pool.maximum {
      world.kafka.fail("\(count) connects to an address in 30 s without an accepted push")
    }
  }

  /// What was refused says nothing about the other open pushes: they get time for their answers.
  func judgeClose(_ id: ConnectionID, _ world: inout World) {
    guard let connected = connections[id], let refusedAt = connected.refusedAt,
      !connected.open.isEmpty, !connected.isSilent,
      world.now - refusedAt < ConnectionStateMachine.grace
    else { return }
    world.kafka.fail("a refusal closes a connection with \(connected.open.count) open pushes")
  }

  /// A credential that is known may serve again; only an app that no credential serves has no future.
  func judgeNoCredential(_ slot: UInt32, _ world: inout World) {
    guard let app = taken[slot]?.facts.app else { return }
    let keys = [Simulation.credential(of: app), Simulation.lastCredential]
    for key in keys where world.tokens.isKnown(key, below: tokensRead) {
      world.kafka.fail("a push becomes a dead letter although its credential is known")
    }
  }
}
