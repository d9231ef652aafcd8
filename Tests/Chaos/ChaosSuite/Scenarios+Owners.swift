// SPDX-License-Identifier: Apache-2.0
import LabCommand
import Waiting

/// Devices that are removed or change owner while pushes to them wait.
extension Scenario {
  static let owners = Scenario(
    name: "owners",
    summary:
      "devices are removed or registered for another user while pushes to them wait for their pace, and a sender or feedback"
      + " is killed: none of these is sent 8 s later, and the pushes to the others are",
    bound: .asKills
  ) { rig in
    let load = try OwnersLoad(rig)
    defer { load.close() }
    for turn in rig.turns(rig.options.kills) {
      let mark = rig.mark()
      try load.begin(rig)
      try rig.kill(turn % 2 == 0 ? rig.random.pick(rig.senders) : "feedback")
      try rig.awaitRecovery(of: mark)
      try rig.pump(5_000)
    }
    try load.finish(rig)
  }
}
