// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand

/// Several feedback processes, each with a database of its own, and devices that register again.
extension Scenario {
  static let feedbackHosts = [
    Scenario(
      name: "feedback-hosts",
      summary:
        "feedback hosts with disks of their own join with an empty or a stale one, are killed and leave;"
        + " half of the unregistered devices registered later",
      sendersStay: true, isShort: true,
      bound: .none("feedback holds no notifications")
    ) { rig in
      let hosts = try FeedbackHosts(rig)
      defer { hosts.close() }
      try hosts.register(200)
      try rig.pump(1_000)
      for turn in rig.turns(max(2, rig.options.kills)) {
        let mark = rig.mark()
        switch turn % 4 {
        case 0: try hosts.join()
        case 1: try hosts.kill()
        case 2 where hosts.count > 1: try hosts.leave()
        case 2: try hosts.kill()
        default: try hosts.join(withStaleDisk: true)
        }
        try hosts.register(4)
        try rig.pump(between: 1_000, and: 3_000)
        try rig.awaitRecovery(of: mark)
      }
      try hosts.compare()
    },
    Scenario(
      name: "feedback-stall",
      summary:
        "SIGSTOP of one of two feedback hosts past its session time-out; devices that it has recorded"
        + " as invalid register; then SIGCONT",
      // The records queued by a stopping process's producer reach the topic late.
      feedbackFlags: ["--kafka.producer.linger.ms=1000"],
      sendersStay: true, bound: .none("feedback holds no notifications")
    ) { rig in
      let hosts = try FeedbackHosts(rig)
      defer { hosts.close() }
      try hosts.join()
      try rig.turns(afterBetween: 500, and: 2_000) { _ in
        let name = hosts.pick()
        rig.signal(name, SIGSTOP)
        try rig.pump(UInt64(rig.options.sessionMilliseconds) + 2_000)
        try hosts.register(min(100, 400 / max(1, rig.options.kills)))
        try rig.pump(1_500)
        rig.signal(name, SIGCONT)
        try rig.pump(between: 1_000, and: 2_000)
      }
      try hosts.compare()
    },
  ]
}
