// SPDX-License-Identifier: Apache-2.0

/// The commands of `martlet` for trials on one machine, with the embedded broker and the simulator. They are in a program
/// of their own, `martlet-lab`, which `martlet` runs in its place.
public enum LabProgram: String, CaseIterable, Sendable {
  case up
  case demo
  case broker
  case keysGenerate = "keys generate"

  /// The name of the program's file, beside that of `martlet`.
  public static let file = "martlet-lab"

  /// For `--help`.
  public var summary: String {
    switch self {
    case .up:
      "Runs everything on this machine: a Kafka broker of one node, the simulator, signer, ingest, senders"
        + " and feedback, until Ctrl-C. For trials: the broker has no replicas."
    case .demo:
      "Sends generated requests through Kafka, ingest, senders and the simulated gateway, and compares"
        + " receipts, dead letters, the gateway's own list and the token database."
        + " Fails if anything is lost."
    case .broker:
      "A Kafka broker of one node on loopback with all topics, for trials, tests and benchmarks: no"
        + " replicas, and without --dir records are lost when it exits."
    case .keysGenerate:
      "Generates a test signing key (.p8), a credentials file and the simulator's certificate. APNs"
        + " accepts only keys from Apple's developer portal."
    }
  }

  public static let sibling = SiblingProgram(
    file: file,
    remedy:
      "the commands up, demo, broker and keys generate need \(file) in the same folder as martlet;"
      + " a release and the Debian package have it",
    commands: allCases.map { ($0.rawValue, $0.summary) })
}
