// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import Waiting

/// Campaigns, while the processes that look up their devices and send to them die.
extension Scenario {
  static let campaign = Scenario(
    name: "campaign",
    summary:
      "SIGKILL of the scheduler, in every second case with the loss of its disk, of ingest and of a sender in turn, while"
      + " campaigns address their devices; then a campaign with a pace is cancelled, and sends nothing afterwards",
    hasScheduler: true, bound: .asKills
  ) { rig in
    let load = try CampaignLoad(rig)
    defer { load.close() }
    try load.register(rig)
    for turn in rig.turns(rig.options.kills) {
      let mark = rig.mark()
      try load.start()
      try rig.pump(between: 0, and: 400)
      switch turn % 4 {
      case 0, 2:
        try rig.kill("scheduler")
        if turn % 4 == 2 { removeDatabase(rig) }
      case 1: try rig.kill("ingest")
      default: try rig.kill(rig.random.pick(rig.senders))
      }
      try rig.pump(between: 500, and: 3_000)
      try rig.awaitRecovery(of: mark)
    }
    try load.finish(rig)
    try load.cancelOne(rig)
  }
}
