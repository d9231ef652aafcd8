// SPDX-License-Identifier: Apache-2.0
import Glibc
import JSON
import OperatorCommand

/// All faults, one after the other and into each other, in an order that the seed chooses.
extension Scenario {
  static let everything = Scenario(
    name: "everything",
    summary: "every kind of fault in random order, often before the last one is over",
    need: .embeddedBroker, brokers: 3, producesOneAtATime: true,
    bound: DuplicateBound(
      embeddedSeconds: 4,
      embeddedReason: "as the worst of the single faults",
      realSeconds: 1, realReason: "as the worst of the single faults")
  ) { rig in
    let poison = try PoisonWriter(rig)
    defer { poison.close() }
    for turn in 0..<rig.options.kills * 2 {
      let mark = rig.mark()
      try oneFault(rig, poison, turn)
      try rig.pump(between: 200, and: 3_000)
      if turn % 4 == 3 { try rig.awaitRecovery(of: mark) }
    }
  }

  private static func oneFault(_ rig: ChaosRig, _ poison: PoisonWriter, _ turn: Int) throws {
    switch rig.random.next() % 10 {
    case 0, 1: try rig.kill(rig.random.pick(rig.senders))
    case 2: try rig.kill("ingest")
    case 3: try rig.kill(rig.random.pick(["signer", "feedback"]))
    case 4: try rig.restart(rig.random.pick(rig.senders))
    case 5:
      let name = rig.random.pick(rig.senders)
      rig.signal(name, SIGSTOP)
      try rig.pump(between: 500, and: UInt64(rig.options.sessionMilliseconds) + 2_000)
      rig.signal(name, SIGCONT)
    case 6:
      rig.countFault("broker down")
      let number = Int64(1 + rig.random.next() % 3)
      try rig.broker("PUT", "/brokers", ["broker": .integer(number), "up": false])
      try rig.pump(between: 500, and: 3_000)
      try rig.broker("PUT", "/brokers", ["broker": .integer(number), "up": true])
    case 7:
      rig.countFault("leaders and coordinators move")
      try move(rig)
    case 8:
      rig.countFault("errors")
      try injectErrors(rig)
    default: try poison.write(rig)
    }
  }
}
