// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Feedback
import LabCommand
import ServiceKit
import Store
import Waiting

/// A database that cannot be written, and clocks that jump.
extension Scenario {
  static let databaseFaults = [
    Scenario(
      name: "database-locked", summary: "another process holds the token database for 2 to 8 s",
      sendersStay: true, bound: .none("feedback waits and commits nothing meanwhile")
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 1_500)
        let mark = rig.mark()
        rig.countFault("database locked")
        let lock = try TokenStoreLock(path: rig.pipeline.database)
        try rig.pump(between: 2_000, and: 8_000)
        lock.release()
        try rig.awaitRecovery(of: mark)
        try rig.awaitDatabase()
      }
      expectRetries(rig)
    },
    Scenario(
      name: "disk-full", summary: "writes to the token database fail with ENOSPC for 2 to 8 s",
      need: .shim, sendersStay: true, bound: .none("feedback waits and commits nothing meanwhile")
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 1_500)
        let mark = rig.mark()
        rig.countFault("disk full")
        try setShim(rig, "feedback", fullPath: rig.pipeline.database)
        try rig.pump(between: 2_000, and: 8_000)
        try setShim(rig, "feedback")
        try rig.awaitRecovery(of: mark)
        try rig.awaitDatabase()
      }
      expectRetries(rig)
    },
  ]

  /// A fault that feedback did not notice proves nothing.
  private static func expectRetries(_ rig: ChaosRig) {
    if rig.occurrences("feedback", FeedbackLog.notWritten) == 0 {
      rig.problem("feedback never noticed that it could not write")
    }
  }

  static let clockSteps = Scenario(
    name: "clock-steps",
    summary:
      "the clock of one process, every second time the signer's, jumps by up to an hour and back",
    need: .shim,
    bound: DuplicateBound(
      seconds: 0.5, reason: "a deadline that seems over while its answer is on the way")
  ) { rig in
    for turn in rig.turns(rig.options.kills) {
      try rig.pump(between: 500, and: 1_500)
      let mark = rig.mark()
      let other = rig.random.pick(rig.senders + ["ingest", "feedback"])
      let name = turn % 2 == 0 ? "signer" : other
      let step = (1 + Int64(rig.random.next() % 60)) * 60_000
      let offset = rig.random.chance(per10000: 5_000) ? step : -step
      rig.countFault("clock of \(name) by \(offset / 60_000) min")
      try setShim(rig, name, clockMilliseconds: offset)
      try rig.pump(between: 1_000, and: 4_000)
      rig.compareOffsets()
      try setShim(rig, name)
      try rig.awaitRecovery(of: mark)
      if name == "signer" { try awaitTokens(rig) }
    }
  }

  /// Sets the faults that a process with the shim sees from now on. The file is replaced atomically; the shim reads it
  /// every few milliseconds.
  static func setShim(
    _ rig: ChaosRig, _ name: String, clockMilliseconds: Int64 = 0, fullPath: String = ""
  ) throws {
    guard let control = rig.place.shimControl else { throw ServiceFailure("there is no shim") }
    try File.write("\(control).\(name)", Array("\(clockMilliseconds) \(fullPath)\n".utf8))
  }
}
