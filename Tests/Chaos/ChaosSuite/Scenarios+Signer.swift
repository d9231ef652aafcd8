// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand

/// A signer that is away for longer than its tokens are valid, and one whose clock is a day ahead.
extension Scenario {
  static let signerFaults = [
    Scenario(
      name: "signer-outage",
      summary:
        "SIGSTOP of the signer, and the senders' clocks jump forward by 56 minutes: every provider token is too old",
      need: .shim, sendersStay: true,
      bound: DuplicateBound(
        seconds: 0.5, reason: "a deadline that seems over while its answer is on the way")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 1_500) { _ in
        rig.signal("signer", SIGSTOP)
        for name in rig.senders { try setShim(rig, name, clockMilliseconds: 56 * 60_000) }
        try rig.pump(between: 5_000, and: 8_000)
        for name in rig.senders { try setShim(rig, name) }
        rig.signal("signer", SIGCONT)
      }
      if !rig.auditor.senderDeadLetters.isEmpty {
        rig.problem("a signer outage made dead letters: \(rig.auditor.senderDeadLetters)")
      }
    },
    Scenario(
      name: "signer-clock",
      summary:
        "the signer's clock goes a day ahead for 10 to 14 s and back; every second time it is killed",
      need: .shim, sendersStay: true, bound: .none("no push is sent differently")
    ) { rig in
      for turn in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 1_500)
        rig.countFault("clock of signer by a day")
        try setShim(rig, "signer", clockMilliseconds: 86_400_000)
        // The token on the topic is then old, so the signer mints a new one.
        try rig.kill("signer")
        try rig.pump(between: 10_000, and: 14_000)
        try setShim(rig, "signer")
        if turn % 2 == 1 { try rig.kill("signer") }
        let mark = rig.mark()
        try rig.awaitRecovery(of: mark)
        try awaitTokens(rig)
      }
    },
  ]

  /// Checks that minting continues: within a minute the newest record of each credential is a usable token.
  static func awaitTokens(_ rig: ChaosRig) throws {
    let tables = TableAudit(rig.kafka, rig.place.names)
    var unusable: [String]? = nil
    let isDone = try rig.pump(
      every: 500,
      until: {
        unusable = try? tables.mints().unusable
        return unusable == []
      }, within: 60_000)
    if !isDone {
      rig.problem(
        "60 s after the signer's clock was right again the newest tokens are not: \(unusable ?? [])"
      )
    }
  }
}
