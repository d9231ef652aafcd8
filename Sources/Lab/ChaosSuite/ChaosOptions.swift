// SPDX-License-Identifier: Apache-2.0
import ServiceKit

/// What a run of the suite was asked for.
struct ChaosOptions {
  /// Empty for all (of the short form).
  var scenarios: [String] = []
  var seed: UInt64 = 1
  /// Faults of each scenario.
  var kills = 20
  var isShort = false
  /// Requests a second; each is for some 2.6 devices.
  var rate = 300
  /// `host:port` of a real cluster, or nil for the embedded broker.
  var kafka: String?
  /// A shell command that restarts one broker of the cluster.
  var restartCommand: String?
  /// The library that changes what a process sees.
  var shim: String?
  var printsJSON = false
  var keeps = false
  let signals: ServiceSignals

  /// Group sessions; a real cluster takes no less than 6 s unless told.
  var sessionMilliseconds: Int { kafka == nil ? 3_000 : 6_000 }
  /// Within this time after the last fault everything must be accounted for. The second retry tier waits a
  /// minute.
  var livenessMilliseconds: UInt64 = 150_000

  /// The command line that runs one scenario again.
  func replay(_ scenario: Scenario) -> String {
    var words = ["benchmarks/chaos", scenario.name, "--seed", "\(seed)", "--kills", "\(kills)"]
    words += ["--rate", "\(rate)"]
    if let kafka { words += ["--kafka", kafka] }
    if let restartCommand { words += ["--restart-broker", "'\(restartCommand)'"] }
    return words.joined(separator: " ")
  }
}
