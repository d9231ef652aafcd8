// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import Records
import ServiceKit
import Waiting

/// A gateway that ends every connection in the same way, and one that rejects one app of a credential.
extension Scenario {
  /// The connection attempts that each pool may make in 30 s while every connection ends without an accepted push. A
  /// pool is one loop's connections with one credential.
  private static let connectsPerPool = 5

  /// The limit for the 99th percentile of response times, in milliseconds, when connections end and most addresses are
  /// dead: less than the time-out of a connection.
  private static let slowestAfterGoAway: Int64 = 8_000

  static let refusals = [
    Scenario(
      name: "gateway-refusals",
      summary:
        "every connection ends the same way for 30 s, or every push is refused the same way (400, 403, 429, 503), each"
        + " time in another one",
      senderFlags: ["--request-timeout", "3s"], refusesTokenUpdates: true,
      sendersStay: true,
      bound: DuplicateBound(
        seconds: 1,
        reason: "requests that the gateway processed and whose answers went with the connection")
    ) { rig in
      let kinds = endings.shuffled(using: &rig.random)
      for turn in rig.turns(rig.options.kills) {
        try rig.pump(between: 1_000, and: 2_000)
        let (name, rules) = kinds[turn % kinds.count]
        rig.countFault("gateway: \(name)")
        let mark = rig.mark()
        try rig.addGatewayFaults(rules)
        // Open requests finish first and are not counted.
        try rig.pump(500)
        let before = try rig.connects()
        try rig.pump(30_000)
        let count = try rig.connects() - before
        let most = connectsPerPool * rig.senders.count * loopsPerSender * credentials
        rig.log(ChaosLog.connects, ["what": name, "connects": "\(count)", "bound": "\(most)"])
        if count > most { rig.problem("\(name): \(count) connects in 30 s; the bound is \(most)") }
        try rig.clearGatewayFaults()
        try rig.awaitRecovery(of: mark)
      }
    },
    Scenario(
      name: "dead-addresses",
      summary:
        "the gateway's name has 18 addresses beside the good one: without a route, with a closed port, or swallowing packets;"
        + " every connection leaves with GOAWAY, again and again",
      sendersStay: true, hasDeadAddresses: true, isShort: true,
      bound: .none("what GOAWAY leaves out was not processed")
    ) { rig in
      let dead = try DeadAddresses([rig.pipeline.gateway, rig.pipeline.sandboxGateway])
      try withExtendedLifetime(dead) {
        for _ in rig.turns(rig.options.kills) {
          // Longer than a failed address is avoided.
          try rig.pump(12_000)
          rig.countFault("gateway: every connection leaves")
          let begin = WallClock.milliseconds()
          try rig.addGatewayFaults([
            ["id": "goaway_form", "form": "below", "then": "drain", "when": ["every": 20]]
          ])
          try rig.pump(1_000)
          try rig.clearGatewayFaults()
          try rig.pump(3_000)
          let end = WallClock.milliseconds()
          try rig.pump(UInt64(slowestAfterGoAway))
          try rig.awaitRecovery(of: rig.mark())
          try rig.judgeAnswers(arrived: begin...end, slowest: slowestAfterGoAway)
        }
      }
    },
    Scenario(
      name: "app-refused",
      summary:
        "InvalidProviderToken to every push of one app for 10 s; the other apps of its key are served",
      sendersStay: true, bound: .none("what is refused was not delivered")
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 1_000, and: 2_000)
        rig.countFault("gateway: one app is refused")
        let begin = WallClock.milliseconds()
        try rig.addGatewayFaults([
          [
            "id": "any_answer", "status": 403, "reason": "InvalidProviderToken",
            "when": ["app": .string(refusedApp)],
          ]
        ])
        try rig.pump(10_000)
        let end = WallClock.milliseconds()
        // The last pushes get their time, too.
        try rig.pump(UInt64(slowestP99))
        try rig.clearGatewayFaults()
        try rig.awaitRecovery(of: rig.mark())
        // A receipt has the time of APNs' response: by now all of them have been read.
        let times = rig.auditor.answerTimes(arrived: begin...end, otherThan: refusedApp)
        let p99 = times.isEmpty ? 0 : times[times.count * 99 / 100]
        let missing = times.count { $0 == .max }
        rig.log(
          ChaosLog.otherApps,
          ["pushes": "\(times.count)", "unanswered": "\(missing)", "p99": "\(p99)ms"])
        if times.isEmpty || p99 > slowestP99 {
          rig.problem(
            "of \(times.count) pushes for the other apps \(missing) have no answer, and the 99th percentile"
              + " was \(p99) ms")
        }
        // Each turn starts idle: pushes that came meanwhile and waited with it are sent first.
        try rig.awaitRecovery(of: rig.mark())
      }
    },
  ]

  /// Statuses of a proxy, a captive portal or a web server in between.
  private static let foreignStatuses: [Int64] = [301, 403, 404, 407, 410, 429, 502]

  static let foreignAnswers = Scenario(
    name: "foreign-answers",
    summary:
      "for 5 s a proxy in the way answers every push, or every other one, with an HTML page (301, 403, 404, 407, 410,"
      + " 429 or 502)",
    sendersStay: true, isShort: true,
    bound: .none("what a proxy answered was not delivered")
  ) { rig in
    for turn in rig.turns(rig.options.kills) {
      try rig.pump(between: 1_000, and: 2_000)
      let status = rig.random.pick(foreignStatuses)
      rig.countFault("gateway: a proxy answers \(status)")
      let mark = rig.mark()
      try rig.addGatewayFaults([
        [
          "id": "unexpected_answer", "form": "foreign", "status": .integer(status),
          "when": ["probability": turn % 2 == 0 ? 1 : 0.5],
        ]
      ])
      try rig.pump(5_000)
      try rig.clearGatewayFaults()
      try rig.awaitRecovery(of: mark)
    }
    if rig.auditor.rejectedWithoutReason > 0 {
      rig.problem("\(rig.auditor.rejectedWithoutReason) notifications were rejected by a proxy")
    }
    if !rig.auditor.senderDeadLetters.isEmpty {
      rig.problem("a proxy made dead letters: \(rig.auditor.senderDeadLetters)")
    }
  }

  private static let refusedApp = "com.example.ride"
  /// For the apps that are not rejected, in milliseconds; the gateway itself takes 200 at the 99th percentile.
  private static let slowestP99: Int64 = 2_000
  private static let loopsPerSender = 2
  private static let credentials = 2

  /// Ways in which a connection ends, or is unusable, without an accepted push. GOAWAY about a credential and
  /// ExpiredProviderToken delay pushes for longer than a run lasts: `Tests/Sender/SenderTests` covers those.
  private static let endings: [(name: String, rules: JSONValue)] = [
    (
      "IdleTimeout to every request",
      [["id": "any_answer", "status": 400, "reason": "IdleTimeout"]]
    ),
    ("Shutdown to every request", [["id": "any_answer", "status": 503, "reason": "Shutdown"]]),
    (
      "InvalidProviderToken to every request",
      [["id": "any_answer", "status": 403, "reason": "InvalidProviderToken"]]
    ),
    (
      "UnrelatedKeyIdInToken to every request",
      [["id": "any_answer", "status": 403, "reason": "UnrelatedKeyIdInToken"]]
    ),
    (
      "TooManyProviderTokenUpdates to every request",
      [["id": "any_answer", "status": 429, "reason": "TooManyProviderTokenUpdates"]]
    ),
    (
      "GOAWAY before the first request",
      [
        ["id": "goaway_form", "form": "text", "then": "close", "at": "ready"],
        ["id": "goaway_form", "form": "text", "then": "close", "when": ["times": 16]],
      ]
    ),
    (
      "reset in the middle of the first request",
      [["id": "connection_lost", "with": "reset", "at": "request"]]
    ),
    (
      "refused at once",
      [
        ["id": "connect_refused", "at": "connection"],
        ["id": "connection_lost", "with": "end", "at": "request", "when": ["times": 16]],
      ]
    ),
    (
      "a certificate of an unknown authority",
      [
        ["id": "tls_failure", "tls": "unknown_authority"],
        ["id": "connection_lost", "with": "end", "at": "request", "when": ["times": 16]],
      ]
    ),
  ]
}

extension ChaosRig {
  /// Checks how long the requests of a time range waited for their responses.
  fileprivate func judgeAnswers(arrived: ClosedRange<Int64>, slowest: Int64) throws {
    let times = auditor.answerTimes(arrived: arrived, otherThan: "")
    let p99 = times.isEmpty ? 0 : times[times.count * 99 / 100]
    log(ChaosLog.deadAddresses, ["pushes": "\(times.count)", "p99": "\(p99)ms"])
    if times.isEmpty || p99 > slowest {
      problem("beside dead addresses answers took \(p99) ms (p99); the bound is \(slowest) ms")
    }
  }
}
