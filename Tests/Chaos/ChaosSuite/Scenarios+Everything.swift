// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand
import Records
import Store
import Waiting

/// All faults, in sequence and overlapping, in an order chosen by the seed.
extension Scenario {
  static let everything = Scenario(
    name: "everything",
    summary: "every kind of fault in random order, often before the last one is over", brokers: 3,
    senderFlags: ["--request-timeout", "3s"], takesShim: true, mayWaitLong: true,
    bound: DuplicateBound(
      seconds: 0.5, reason: "half of the faults repeat nothing, the others up to twice as much")
  ) { rig in
    let poison = try PoisonWriter(rig)
    defer { poison.close() }
    for turn in rig.turns(rig.options.kills * 2) {
      let mark = rig.mark()
      try oneFault(rig, poison, turn)
      try rig.pump(between: 200, and: 3_000)
      rig.compareOffsets()
      if turn % 4 == 3 { try rig.awaitRecovery(of: mark) }
    }
  }

  private static func oneFault(_ rig: ChaosRig, _ poison: PoisonWriter, _ turn: Int) throws {
    switch rig.random.next() % 10 {
    case 0, 1: try rig.kill(rig.random.pick(rig.senders))
    case 2: try rig.kill(rig.random.pick(["ingest", "signer", "feedback"]))
    case 3: try rig.restart(rig.random.pick(rig.senders))
    case 4:
      let name = rig.random.pick(rig.senders)
      rig.signal(name, SIGSTOP)
      try rig.pump(between: 500, and: UInt64(rig.options.sessionMilliseconds) + 2_000)
      rig.signal(name, SIGCONT)
    case 5, 6: try gatewayFault(rig)
    case 7 where rig.isEmbedded: try brokerFault(rig)
    case 7, 8: try surroundingFault(rig)
    default: try poison.write(rig)
    }
  }

  private static func brokerFault(_ rig: ChaosRig) throws {
    switch rig.random.next() % 3 {
    case 0:
      rig.countFault("broker down")
      let number = Int64(1 + rig.random.next() % 3)
      try rig.broker("PUT", "/brokers", ["broker": .integer(number), "up": false])
      try rig.pump(between: 500, and: 3_000)
      try rig.broker("PUT", "/brokers", ["broker": .integer(number), "up": true])
    case 1:
      rig.countFault("leaders and coordinators move")
      try move(rig)
    default:
      rig.countFault("errors")
      try injectErrors(rig)
    }
  }

  private static func gatewayFault(_ rig: ChaosRig) throws {
    try rig.awaitGateway()
    switch rig.random.next() % 5 {
    case 0: try rig.killGateway()
    case 1:
      rig.signal("simulator", SIGSTOP)
      try rig.pump(between: 500, and: 3_000)
      rig.signal("simulator", SIGCONT)
    case 2:
      rig.countFault("gateway: 503 for all")
      try rig.addGatewayFaults([
        ["id": "service_unavailable", "status": 503, "reason": "ServiceUnavailable"]
      ])
      try rig.pump(between: 500, and: 3_000)
      try rig.clearGatewayFaults()
    default:
      let (name, rules) = rig.random.pick(troubles)
      rig.countFault("gateway: \(name)")
      try rig.addGatewayFaults(rules)
      try rig.pump(between: 500, and: 1_500)
      try rig.clearGatewayFaults()
    }
  }

  /// Faults of the processes' environment: disk, database, clock.
  private static func surroundingFault(_ rig: ChaosRig) throws {
    let hasShim = rig.place.shimControl != nil
    switch rig.random.next() % 3 {
    case 0 where hasShim:
      let name = rig.random.pick(rig.senders + ["ingest", "feedback"])
      let step = (1 + Int64(rig.random.next() % 60)) * 60_000
      let offset = rig.random.chance(per10000: 5_000) ? step : -step
      rig.countFault("clock of \(name) by \(offset / 60_000) min")
      try setShim(rig, name, clockMilliseconds: offset)
      try rig.pump(between: 500, and: 2_000)
      try setShim(rig, name)
    case 1 where hasShim:
      rig.countFault("disk full")
      try setShim(rig, "feedback", fullPath: rig.pipeline.database)
      try rig.pump(between: 500, and: 3_000)
      try setShim(rig, "feedback")
    default:
      rig.countFault("database locked")
      let lock = try TokenStoreLock(path: rig.pipeline.database)
      try rig.pump(between: 500, and: 3_000)
      lock.release()
    }
  }
}
