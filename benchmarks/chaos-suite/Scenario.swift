// SPDX-License-Identifier: Apache-2.0

/// How many pushes may arrive twice, as time: so many seconds of the run's traffic for each fault.
///
/// The embedded broker refuses commits while a group rebalances, so what was completed meanwhile is sent
/// again by the next owner; a real broker takes them.
struct DuplicateBound: Sendable {
  let embeddedSeconds: Double
  let embeddedReason: String
  let realSeconds: Double
  let realReason: String

  /// No push may arrive twice.
  static func none(_ reason: String) -> DuplicateBound {
    DuplicateBound(
      embeddedSeconds: 0, embeddedReason: reason, realSeconds: 0, realReason: reason)
  }

  /// The number for a run.
  func limit(isEmbedded: Bool, faults: Int, perSecond: Double) -> Int {
    let seconds = isEmbedded ? embeddedSeconds : realSeconds
    return Int((seconds * perSecond * Double(faults)).rounded(.up))
  }
}

/// One way to hurt the pipeline.
struct Scenario: Sendable {
  /// What a scenario cannot do without.
  enum Need: Sendable {
    case nothing
    /// The embedded broker's control interface.
    case embeddedBroker
    /// A real cluster: the embedded broker would show something else.
    case realCluster(why: String)
    /// A real cluster, and a command that restarts one of its brokers.
    case brokerRestart(why: String)
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
  /// What a sender may take at most in MiB, where that is less than what any process may take.
  var senderMebibytes: Int?
  /// Whether producers have one request on its way at a time. The embedded broker does not check sequences, so
  /// it takes a batch although it has just refused the one before; librdkafka then takes the first one for
  /// stored, too, as it would be on a real broker. With injected errors, or leaders that move, that would lose
  /// records by itself.
  var producesOneAtATime = false
  /// Whether it uses the shim where there is one, and can do without.
  var takesShim = false
  /// Group sessions where they are others than those of the suite, in milliseconds.
  var sessionMilliseconds: Int?
  /// Whether one answer in fifty takes a second longer, so that there are holes for maps to tell of.
  var hasStragglers = false
  /// Whether it is part of the short form.
  var isShort = false
  let bound: DuplicateBound
  /// Makes the faults. The load runs; what follows (settling, clean stop, audit) is the same for all.
  let steps: @Sendable (ChaosRig) throws -> Void

  /// The scenario as a row of the table in docs/chaos.md.
  var documentation: String {
    func seconds(_ value: Double) -> String { value == 0 ? "0" : "\(value)" }
    let form = isShort ? " (short form, too)" : ""
    return "| `\(name)` | \(summary)\(form) | \(seconds(bound.embeddedSeconds)) |"
      + " \(bound.embeddedReason) | \(seconds(bound.realSeconds)) | \(bound.realReason) |"
  }

  var usesShim: Bool { if case .shim = need { true } else { takesShim } }

  /// Why it cannot be run with these options; nil when it can.
  func obstacle(_ options: ChaosOptions) -> String? {
    switch need {
    case .nothing: nil
    case .embeddedBroker:
      options.kafka == nil
        ? nil : "needs the embedded broker's control interface: leave out --kafka"
    case .realCluster(let why):
      options.kafka == nil ? "needs a real cluster (--kafka host:port): \(why)" : nil
    case .brokerRestart(let why):
      options.kafka == nil || options.restartCommand == nil
        ? "needs a real cluster and a command that restarts a broker of it (--kafka host:port"
          + " --restart-broker COMMAND): \(why)" : nil
    case .shim:
      options.shim == nil ? "needs the shim library (--shim; benchmarks/chaos builds it)" : nil
    }
  }

  /// Every scenario, the most valuable first.
  static let all: [Scenario] = [
    kills, [scaling], backlogs, kafkaFaults, refusedProduces, gatewayFaults, gatewayOutages,
    refusals,
    [poison], feedbackHosts, databaseFaults, [clockSteps], signerFaults, realCluster, [everything],
  ].flatMap(\.self)
}
