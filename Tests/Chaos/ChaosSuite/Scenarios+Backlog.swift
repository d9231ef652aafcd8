// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import LabCommand
import ServiceKit
import Waiting

/// Scenarios of senders with a backlog, and with full windows of ids.
extension Scenario {
  static let backlogs = [
    Scenario(
      name: "backlog-kill",
      summary:
        "the senders leave, a backlog of 8 s of ten times the traffic grows, two others come, and one of them is"
        + " killed on the way",
      isShort: true,
      bound: DuplicateBound(
        seconds: 2, reason: "as kill-sender, at that pace")
    ) { rig in
      var names = rig.senders
      for turn in rig.turns(max(2, rig.options.kills / 2)) {
        for name in names { try rig.stopForGood(name) }
        let before = rig.readers.retryReasons
        rig.load.perSecond = rig.options.rate * 10
        try rig.pump(8_000)
        rig.load.perSecond = rig.options.rate
        names = (1...2).map { "backlog-\(turn + 1)-\($0)" }
        let mark = rig.mark()
        let begin = MonotonicClock.milliseconds()
        for name in names { try rig.pipeline.startSender(name) }
        try rig.awaitPartitions(of: names[0])
        try rig.pump(between: 100, and: 1_000)
        try rig.kill(rig.random.pick(names))
        try rig.awaitRecovery(of: mark)
        let parked = rig.readers.retryReasons.filter { $0.value > before[$0.key] ?? 0 }
          .map { "\($0.key) \($0.value - (before[$0.key] ?? 0))" }.sorted().joined(separator: ", ")
        rig.log(
          ChaosLog.backlog,
          [
            "requests": "\(mark)", "milliseconds": "\(MonotonicClock.milliseconds() - begin)",
            "retries": parked,
          ])
        let sum = rig.readers.retryReasons.values.reduce(0, +) - before.values.reduce(0, +)
        // A gateway without progress for seconds counts as stuck; a busy machine may cause that for a few.
        if sum > mark / 100 {
          rig.problem("notifications went to retry topics although the gateway answers: \(parked)")
        }
      }
    },
    Scenario(
      name: "full-windows",
      summary: "senders join and leave while each partition has up to 20,000 apns-ids to remember",
      senderFlags: ["--dedup-window", "20000"], senderMebibytes: 96,
      bound: DuplicateBound(
        seconds: 0, reason: "a member commits what it completed before it gives up partitions")
    ) { rig in
      // A thousand per partition and fault: a run of 20 has full windows.
      let wanted = min(20_000, 1_000 * rig.options.kills) * windowPartitions
      rig.load.perSecond = rig.options.rate * 10
      let isFull = try rig.pump(until: { rig.readers.notifications >= wanted }, within: 600_000)
      rig.load.perSecond = rig.options.rate
      if !isFull { rig.problem("\(rig.readers.notifications) of \(wanted) notifications in 600 s") }
      try rig.awaitRecovery(of: rig.mark())
      for turn in rig.turns(rig.options.kills) {
        let name = "window-\(turn + 1)"
        let mark = rig.mark()
        rig.countFault("\(name) joins and leaves")
        try rig.pipeline.startSender(name)
        try rig.awaitPartitions(of: name)
        try rig.pump(between: 500, and: 2_000)
        try rig.stopForGood(name)
        try rig.awaitRecovery(of: mark)
      }
    },
  ]

  /// The partitions of the transactional lane, which has nearly all notifications of the load.
  private static let windowPartitions = 12
}
