// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import Records
import Waiting

/// Scheduled requests, while the processes that keep and send them die.
extension Scenario {
  static let schedule = Scenario(
    name: "schedule",
    summary:
      "SIGKILL of the scheduler, in every second case with the loss of its disk, of ingest and of a sender in turn,"
      + " and of the broker (down for 1 to 4 s), while scheduled requests are due and cancelled; with the shim the scheduler's clock is ahead by ten minutes for a"
      + " while",
    hasScheduler: true, takesShim: true,
    bound: .asKills
  ) { rig in
    let load = try ScheduledLoad(rig.kafka, rig.place.names, seed: rig.random.next())
    defer { load.close() }
    for turn in rig.turns(rig.options.kills) {
      try load.produce(200)
      try rig.pump(between: 500, and: 2_000)
      try load.produce(100)
      rig.compareOffsets()
      let mark = rig.mark()
      switch turn % 5 {
      case 0, 2:
        try rig.kill("scheduler")
        if turn % 5 == 2 { removeDatabase(rig) }
      case 1: try rig.kill("ingest")
      case 4 where rig.options.kafka == nil: try stopBroker(rig)
      default: try rig.kill(rig.random.pick(rig.senders))
      }
      if turn % 4 == 0, rig.place.shimControl != nil {
        try setShim(rig, "scheduler", clockMilliseconds: turn % 8 == 0 ? 600_000 : 0)
      }
      if rig.random.chance(per10000: 5_000) { try rig.awaitRecovery(of: mark) }
    }
    if rig.place.shimControl != nil { try setShim(rig, "scheduler") }
    try load.finish(rig)
  }

  private static func stopBroker(_ rig: ChaosRig) throws {
    rig.countFault("broker down")
    try rig.broker("PUT", "/brokers", ["up": false])
    try rig.pump(between: 1_000, and: 4_000)
    try rig.broker("PUT", "/brokers", ["up": true])
  }

  /// Gives the scheduler an empty disk.
  static func removeDatabase(_ rig: ChaosRig) {
    rig.countFault("the scheduler's disk is empty")
    for suffix in ["", "-wal", "-shm"] { try? File.remove(rig.pipeline.scheduleDatabase + suffix) }
  }
}
