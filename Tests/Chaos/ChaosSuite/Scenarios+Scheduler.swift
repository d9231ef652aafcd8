// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand
import Scheduler
import Store
import Waiting

/// A scheduler whose database does not respond, several schedulers, and requests to users.
extension Scenario {
  static let schedulers = [scheduleDatabase, schedulerHosts, people]

  private static let scheduleDatabase = Scenario(
    name: "schedule-database",
    summary:
      "another process holds the scheduler's database for 2 to 8 s, or, with the shim, its disk is full for as long,"
      + " while scheduled requests are due and cancelled",
    hasScheduler: true, takesShim: true, sendersStay: true,
    bound: .none("the scheduler waits and commits nothing meanwhile")
  ) { rig in
    let load = try ScheduledLoad(rig.kafka, rig.place.names, seed: rig.random.next())
    defer { load.close() }
    for turn in rig.turns(rig.options.kills) {
      try load.produce(200)
      try rig.pump(between: 500, and: 2_000)
      let mark = rig.mark()
      if turn % 2 == 1, rig.place.shimControl != nil {
        rig.countFault("the scheduler's disk is full")
        try setShim(rig, "scheduler", fullPath: rig.pipeline.scheduleDatabase)
        try rig.pump(between: 2_000, and: 8_000)
        try setShim(rig, "scheduler")
      } else {
        rig.countFault("the scheduler's database is locked")
        let lock = try TokenStoreLock(path: rig.pipeline.scheduleDatabase)
        try rig.pump(between: 2_000, and: 8_000)
        lock.release()
      }
      try rig.awaitRecovery(of: mark)
    }
    try load.finish(rig)
    if rig.occurrences("scheduler", SchedulerLog.databaseSilent) == 0 {
      rig.problem("the scheduler never noticed that its database did not answer")
    }
  }

  private static let schedulerHosts = Scenario(
    name: "scheduler-hosts",
    summary:
      "a second scheduler with an empty disk of its own joins and leaves, one of the two is killed, or stopped with"
      + " SIGSTOP past its session time-out and then SIGCONT, while scheduled requests are due and cancelled and campaigns"
      + " address their devices",
    hasScheduler: true, sendersStay: true,
    bound: .none("what is released twice has the same apns-id: it ends as deduplicated")
  ) { rig in
    let (load, campaigns) = (
      try ScheduledLoad(rig.kafka, rig.place.names, seed: rig.random.next()), try CampaignLoad(rig)
    )
    defer {
      load.close()
      campaigns.close()
    }
    try campaigns.register(rig)
    var names = ["scheduler"]
    for turn in rig.turns(rig.options.kills) {
      let mark = rig.mark()
      try load.produce(200)
      if names.count < 2 { names.append(try join(rig, number: turn + 2)) }
      try campaigns.start()
      try rig.pump(between: 0, and: 400)
      try disturb(rig, &names, turn)
      try rig.pump(between: 500, and: 3_000)
      try rig.awaitRecovery(of: mark)
    }
    if names.count > 1 { try rig.stopForGood(names.removeLast()) }
    try load.finish(rig)
    try campaigns.finish(rig)
  }

  private static func join(_ rig: ChaosRig, number: Int) throws -> String {
    let name = "scheduler-\(number)"
    rig.countFault("\(name) joins with an empty disk")
    try rig.pipeline.startScheduler(name, database: "\(rig.place.folder)/\(name).db")
    try rig.awaitPartitions(of: name)
    return name
  }

  private static func disturb(_ rig: ChaosRig, _ names: inout [String], _ turn: Int) throws {
    let name = rig.random.pick(names)
    switch turn % 3 {
    case 0:
      rig.signal(name, SIGSTOP)
      try rig.pump(UInt64(rig.options.sessionMilliseconds) + 2_000)
      rig.signal(name, SIGCONT)
    case 1: try rig.kill(name)
    default:
      rig.countFault("\(names[1]) leaves")
      try rig.stopForGood(names.removeLast())
    }
  }

  private static let people = Scenario(
    name: "people",
    summary:
      "SIGKILL of the scheduler, in every second case with the loss of its disk, of ingest, of feedback and of a sender in"
      + " turn, while requests to users are due",
    hasScheduler: true, bound: .asKills
  ) { rig in
    let load = try PeopleLoad(rig)
    defer { load.close() }
    try load.register(rig)
    for turn in rig.turns(rig.options.kills) {
      try load.produce(200, random: &rig.random)
      try rig.pump(between: 500, and: 2_000)
      let mark = rig.mark()
      switch turn % 5 {
      case 0: try rig.kill("scheduler")
      case 1: try rig.kill("ingest")
      case 2:
        try rig.kill("scheduler")
        removeDatabase(rig)
      case 3: try rig.kill("feedback")
      default: try rig.kill(rig.random.pick(rig.senders))
      }
      try rig.pump(between: 500, and: 3_000)
      try rig.awaitRecovery(of: mark)
    }
    try load.finish(rig)
  }
}
