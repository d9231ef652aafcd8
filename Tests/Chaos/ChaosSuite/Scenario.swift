// SPDX-License-Identifier: Apache-2.0

/// The number of pushes that may arrive twice, as seconds of the run's traffic per fault.
struct DuplicateBound: Sendable {
  let seconds: Double
  let reason: String

  /// For scenarios that kill senders, and perhaps other processes.
  static let asKills = DuplicateBound(seconds: 0.5, reason: "as with `kill-sender`")

  /// No push may arrive twice.
  static func none(_ reason: String) -> DuplicateBound {
    DuplicateBound(seconds: 0, reason: reason)
  }

  /// The number for a run: for each fault, the pushes accepted in the busiest interval of that length until the next
  /// fault, since senders catch up after an outage at many times the load's rate; at least the load's own rate.
  ///
  /// - Parameters:
  ///   - faults: The times of the faults in milliseconds, like `accepted`.
  ///   - perSecond: The load's notifications per second.
  ///   - accepted: The times at which the gateway accepted notifications, in any order.
  func limit(faults: [Int64], perSecond: Double, accepted: [Int64]) -> Int {
    let width = Int64(seconds * 1_000)
    guard width > 0 else { return 0 }
    let least = Int((seconds * perSecond).rounded(.up))
    let times = accepted.sorted()
    return faults.indices.reduce(0) { sum, index in
      let end = index + 1 < faults.count ? faults[index + 1] : .max
      // Pushes completed before the fault but not committed count too.
      let stretch = times.drop { $0 < faults[index] - width }.prefix { $0 < end }
      return sum + max(least, Self.busiest(stretch, width))
    }
  }

  /// The largest number of these ascending times in any interval of that many milliseconds.
  private static func busiest(_ times: ArraySlice<Int64>, _ width: Int64) -> Int {
    var first = times.startIndex
    var most = 0
    for index in times.indices {
      while times[first] <= times[index] - width { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }
}

/// A scenario with one kind of fault.
struct Scenario: Sendable {
  /// What a scenario needs.
  enum Need: Sendable {
    case nothing
    /// The embedded broker's control interface.
    case embeddedBroker
    /// The embedded broker, or a command that restarts a cluster's broker.
    case brokerRestart
    /// The library that makes a process see a different clock or a full disk.
    case shim
  }

  let name: String
  let summary: String
  var need = Need.nothing
  var senders = 2
  /// The number of brokers that the embedded cluster simulates.
  var brokers = 1
  var senderFlags: [String] = []
  var feedbackFlags: [String] = []
  var gatewayFlags: [String] = []
  /// Whether all requests are updates of Live Activities instead of a day's requests: of `--activities` activities, ten
  /// times a second, to a gateway that accepts a tenth of that.
  var hasActivities = false
  /// Whether every group member has a name (`--instance-id`): for one instance of each program.
  var namesMembers = false
  /// The maximum memory of a sender in MiB, if below the limit of any process.
  var senderMebibytes: Int?
  /// Whether its faults respond with TooManyProviderTokenUpdates, as the gateway's own rule does.
  var refusesTokenUpdates = false
  /// Whether a scheduler with its own database is running.
  var hasScheduler = false
  /// Whether it uses the shim if available, without requiring it.
  var takesShim = false
  /// The session timeout that is long enough for a busy machine, in milliseconds: at most `max.poll.interval.ms` there.
  static let longSession = 10_000

  /// The session timeout of groups if different from the suite's, in milliseconds. If senders leave by themselves, no
  /// session must expire.
  var sessionMilliseconds: Int?
  /// Whether its faults neither start nor stop senders, and the broker stays. A rebalance of the senders is then not
  /// part of the fault, and a busy machine must not cause one: their session timeout is longer.
  var sendersStay = false
  /// Whether one response in fifty takes 0.7 s longer, so that offset maps have incomplete offsets to record. A sender
  /// whose partitions are revoked waits 1.5 s for responses, which must suffice on a busy machine.
  var hasStragglers = false
  /// Whether a notification may meet so many outages that its last retry is that of the 15-minute topic.
  var mayWaitLong = false
  /// Whether the gateway's name has many addresses, only one of which works (`DeadAddresses`).
  var hasDeadAddresses = false
  /// Whether it is part of the short form.
  var isShort = false
  let bound: DuplicateBound
  /// Injects the faults under load; what follows (settling, clean stop, audit) is the same for all.
  let steps: @Sendable (ChaosRig) throws -> Void

  /// The start of its row in docs/guarantees.md: name, fault, and its bound in seconds.
  var documentation: String {
    let form = isShort ? " (short)" : ""
    let seconds = bound.seconds == 0 ? "0" : "\(bound.seconds)"
    return "| `\(name)` | \(summary)\(form) | \(seconds) |"
  }

  /// The line for `--list`: the same with the reason for the bound.
  var listing: String { "\(documentation) \(bound.reason) |" }

  var usesShim: Bool { if case .shim = need { true } else { takesShim } }

  /// The reason why it cannot run with these options; nil if it can.
  func obstacle(_ options: ChaosOptions) -> String? {
    switch need {
    case .nothing: nil
    case .embeddedBroker:
      options.kafka == nil
        ? nil : "needs the embedded broker's control interface: leave out --kafka"
    case .brokerRestart:
      options.kafka == nil || options.restartCommand != nil
        ? nil : "needs a command that restarts a broker of the cluster (--restart-broker COMMAND)"
    case .shim:
      options.shim == nil ? "needs the shim library (--shim; benchmarks/chaos builds it)" : nil
    }
  }

  /// Every scenario, most important first.
  static let all: [Scenario] = [
    kills, [scaling], [newestState], backlogs, kafkaFaults, [namedMembers], refusedProduces,
    rightsFaults, gatewayFaults, gatewayOutages, refusals, [foreignAnswers], [poison], hostile,
    feedbackHosts, [owners], databaseFaults, [clockSteps], signerFaults, [schedule, campaign],
    schedulers, promised, [scheduleAnew, everything],
  ].flatMap(\.self)
}
