// SPDX-License-Identifier: Apache-2.0

/// The number of pushes that may arrive twice, as time: so many seconds of the run's traffic for each fault.
struct DuplicateBound: Sendable {
  let seconds: Double
  let reason: String

  /// Senders are killed, and perhaps others.
  static let asKills = DuplicateBound(
    seconds: 0.5, reason: "as with `kill-sender`")

  /// No push may arrive twice.
  static func none(_ reason: String) -> DuplicateBound {
    DuplicateBound(
      seconds: 0, reason: reason)
  }

  /// The number for a run: for each fault what was accepted in the busiest so many seconds until the next one, since
  /// after an outage senders catch up at many times the load's rate; and no less than what the load makes in them.
  ///
  /// - Parameters:
  ///   - faults: when they were made, in milliseconds, as `accepted`.
  ///   - perSecond: notifications that the load makes.
  ///   - accepted: when the gateway accepted notifications, in any order.
  func limit(faults: [Int64], perSecond: Double, accepted: [Int64]) -> Int {
    let width = Int64(seconds * 1_000)
    guard width > 0 else { return 0 }
    let least = Int((seconds * perSecond).rounded(.up))
    let times = accepted.sorted()
    return faults.indices.reduce(0) { sum, index in
      let end = index + 1 < faults.count ? faults[index + 1] : .max
      // What was completed before the fault and could not be committed counts, too.
      let stretch = times.drop { $0 < faults[index] - width }.prefix { $0 < end }
      return sum + max(least, Self.busiest(stretch, width))
    }
  }

  /// The most of these times, which ascend, in any stretch of that many milliseconds.
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

/// One way to hurt the pipeline.
struct Scenario: Sendable {
  /// The equipment that a scenario cannot do without.
  enum Need: Sendable {
    case nothing
    /// The embedded broker's control interface.
    case embeddedBroker
    /// The embedded broker, or a command that restarts a broker of the cluster.
    case brokerRestart
    /// The library that makes a process see another clock or a full disk.
    case shim
  }

  let name: String
  let summary: String
  var need = Need.nothing
  var senders = 2
  /// Brokers that the embedded cluster pretends to have.
  var brokers = 1
  var senderFlags: [String] = []
  var feedbackFlags: [String] = []
  var gatewayFlags: [String] = []
  /// True if all requests are updates of Live Activities, and not a day's requests: as many of them as `--activities` says,
  /// ten times a second, to a gateway that takes a tenth of that.
  var hasActivities = false
  /// True if every member of a group has a name (`--instance-id`): for one copy of each program.
  var namesMembers = false
  /// The most memory that a sender may take in MiB, where that is less than the limit of any process.
  var senderMebibytes: Int?
  /// True if its faults answer TooManyProviderTokenUpdates, as the gateway's own rule does.
  var refusesTokenUpdates = false
  /// True if a scheduler runs, with a database of its own.
  var hasScheduler = false
  /// True if it uses the shim where there is one, and can do without.
  var takesShim = false
  /// Sessions that a busy machine does not end, in milliseconds: not longer than `max.poll.interval.ms` there.
  static let longSession = 10_000

  /// Group sessions where they are others than those of the suite, in milliseconds. Where senders leave by themselves
  /// no session has to end.
  var sessionMilliseconds: Int?
  /// True if no sender comes, goes or is stopped by its faults, and the broker stays. Then a rebalance of the senders
  /// is none of them, and a busy machine must not make one: their sessions are longer.
  var sendersStay = false
  /// True if one answer in fifty takes 0.7 s longer, so that offset maps have incomplete offsets to record. A sender that
  /// gives back partitions waits 1.5 s for its answers, which such a one must not use up on a busy machine.
  var hasStragglers = false
  /// True if a notification may meet so many outages that its last wait is that of the 15-minute topic.
  var mayWaitLong = false
  /// True if the gateway's name has many addresses, of which one is alive (`DeadAddresses`).
  var hasDeadAddresses = false
  /// True if it is part of the short form.
  var isShort = false
  let bound: DuplicateBound
  /// Makes the faults. The load runs; what follows (settling, clean stop, audit) is the same for all.
  let steps: @Sendable (ChaosRig) throws -> Void

  /// The beginning of its row in docs/guarantees.md: name, fault, and its bound in seconds.
  var documentation: String {
    let form = isShort ? " (short)" : ""
    let seconds = bound.seconds == 0 ? "0" : "\(bound.seconds)"
    return "| `\(name)` | \(summary)\(form) | \(seconds) |"
  }

  /// For `--list`: the same with the reason for the bound.
  var listing: String { "\(documentation) \(bound.reason) |" }

  var usesShim: Bool { if case .shim = need { true } else { takesShim } }

  /// Why it cannot be run with these options; nil when it can.
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

  /// Every scenario, the most valuable first.
  static let all: [Scenario] = [
    kills, [scaling], [newestState], backlogs, kafkaFaults, [namedMembers], refusedProduces,
    rightsFaults,
    gatewayFaults, gatewayOutages, refusals, [foreignAnswers],
    [poison], hostile, feedbackHosts, [owners], databaseFaults, [clockSteps], signerFaults,
    [schedule, campaign], schedulers,
    promised, [scheduleAnew, everything],
  ].flatMap(\.self)
}
