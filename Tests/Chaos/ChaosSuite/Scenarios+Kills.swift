// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand
import Waiting

/// Processes that die, stop, or stall.
extension Scenario {
  static let kills = [
    Scenario(
      name: "kill-sender", summary: "SIGKILL of a random one of two senders",
      hasStragglers: true, isShort: true, bound: senderKill
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try killAndRecover(rig, rig.random.pick(rig.senders))
      }
    },
    Scenario(
      name: "kill-ingest", summary: "SIGKILL of ingest", sendersStay: true, isShort: true,
      bound: .none(
        "what ingest produces again has the same apns-id and goes to the same partition, whose owner"
          + " stays: it ends as deduplicated")
    ) { rig in
      for _ in rig.turns(rig.options.kills) { try killAndRecover(rig, "ingest") }
    },
    Scenario(
      name: "kill-signer-feedback", summary: "SIGKILL of the signer and of feedback in turn",
      sendersStay: true, isShort: true, bound: .none("neither of them holds notifications")
    ) { rig in
      for turn in rig.turns(rig.options.kills) {
        try killAndRecover(rig, turn % 2 == 0 ? "signer" : "feedback")
        try rig.awaitDatabase()
      }
    },
    Scenario(
      name: "clean-restart", summary: "SIGTERM of the only sender, under load", senders: 1,
      sessionMilliseconds: longSession, hasStragglers: true, isShort: true,
      bound: .none("a clean stop drains and commits before it leaves the group")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { _ in
        try rig.restart("sender-1")
      }
    },
    Scenario(
      name: "fast-shutdown", summary: "SIGTERM, and once more, to the only sender, under load",
      senders: 1, hasStragglers: true,
      bound: DuplicateBound(
        seconds: 0.5,
        reason: "what was in flight when the second signal came; the rest is committed")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { _ in
        try rig.restart("sender-1", isFast: true)
      }
    },
    Scenario(
      name: "rolling-restart", summary: "SIGTERM of one of two senders after the other",
      sessionMilliseconds: longSession, hasStragglers: true,
      bound: DuplicateBound(
        seconds: 0, reason: "both commit what they completed before partitions move")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 2_000) { turn in
        try rig.restart(rig.senders[turn % 2])
        rig.compareOffsets()
      }
    },
    Scenario(
      name: "zombie-sender", summary: "SIGSTOP of a sender past its session time-out, then SIGCONT",
      hasStragglers: true,
      bound: DuplicateBound(
        seconds: 1,
        reason:
          "what it had in flight and completed since its last commit; its late commits are refused")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 2_000) { _ in
        let name = rig.random.pick(rig.senders)
        rig.signal(name, SIGSTOP)
        try rig.pump(UInt64(rig.options.sessionMilliseconds) + 3_000)
        // What the new owner has committed, and what the old one does when it resumes.
        rig.compareOffsets()
        rig.signal(name, SIGCONT)
        try rig.pump(between: 200, and: 1_000)
        rig.compareOffsets()
      }
    },
    Scenario(
      name: "suspended-host",
      summary:
        "SIGSTOP of every process past all session time-outs, then SIGCONT: as when a virtual machine is moved",
      hasStragglers: true,
      bound: DuplicateBound(
        seconds: 1,
        reason:
          "what was in flight and completed since the last commit, at the pace at which what waited in Kafka drains"
      )
    ) { rig in
      try rig.turns(afterBetween: 500, and: 2_000) { _ in
        rig.suspendAll(milliseconds: UInt64(rig.options.sessionMilliseconds) + 3_000)
        try rig.pump(between: 200, and: 1_000)
        rig.compareOffsets()
      }
    },
  ]

  static let scaling = Scenario(
    name: "scale-senders", summary: "three senders join one, stay, and leave again", senders: 1,
    sessionMilliseconds: longSession, hasStragglers: true,
    bound: DuplicateBound(
      seconds: 0, reason: "a member commits what it completed before it gives up partitions")
  ) { rig in
    // From one to four and back is six faults.
    for turn in rig.turns(max(1, rig.options.kills / 5)) {
      let mark = rig.mark()
      let names = (1...3).map { "scaled-\(turn + 1)-\($0)" }
      for name in names {
        rig.countFault("\(name) joins")
        try rig.pipeline.startSender(name)
      }
      for name in names {
        try rig.awaitPartitions(of: name)
      }
      try rig.pump(between: 1_000, and: 4_000)
      rig.compareOffsets()
      for name in names {
        rig.countFault("\(name) leaves")
        try rig.stopForGood(name)
      }
      try rig.awaitRecovery(of: mark)
    }
  }

  private static let senderKill = DuplicateBound(
    seconds: 0.5,
    reason: "what the dead one had in flight, and completed since its last commit (200 ms)")

  static func killAndRecover(_ rig: ChaosRig, _ name: String) throws {
    try rig.pump(between: 300, and: 2_000)
    rig.compareOffsets()
    let mark = rig.mark()
    try rig.kill(name)
    // Every fourth kill does not wait for recovery: the next one may hit a group that is still forming.
    if rig.random.chance(per10000: 2_500) { return }
    try rig.awaitRecovery(of: mark)
  }
}
