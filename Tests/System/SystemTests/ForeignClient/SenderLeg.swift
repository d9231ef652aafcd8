// SPDX-License-Identifier: Apache-2.0
import Records
import TestSupport
import Testing

/// Broker, signer, ingest and sender as processes, with whatever gateway a test has.
final class SenderLeg {
  let kcat: Kcat
  private var programs: [(name: String, program: BuiltProgram)] = []

  /// - Parameters:
  ///   - port: The gateway's port, on localhost; its certificate is that of `keys`.
  ///   - flags: More of them for the sender.
  init(
    gatewayPort port: UInt16, keys: GeneratedKeys, sender flags: [String] = [],
    in folder: TemporaryFolder
  ) throws {
    let file = folder.file("broker.address")
    let broker = try BuiltProgram.start("martlet", ["broker", "--address-file", file], in: folder)
    let kafka = try #require(broker.announcement(in: file), "it printed: \(broker.output)")
    kcat = Kcat(kafka: kafka, folder: folder)
    programs = [("broker", broker)]
    try start("martlet-signer", ["--credentials", keys.credentials])
    try start(
      "martlet-sender",
      [
        "--gateway", "localhost:\(port)", "--sandbox-gateway", "localhost:\(port)",
        "--gateway-roots", keys.roots, "--loops", "2",
      ] + flags)
    try start("martlet-ingest", [])
  }

  private func start(_ name: String, _ flags: [String]) throws {
    let program = try BuiltProgram.start(name, ["--kafka", kcat.kafka] + flags, in: kcat.folder)
    programs.append((name, program))
  }

  /// Produces a request for each token and waits for their receipts, by token.
  func push(_ tokens: [String]) throws -> [LegReceipt] {
    try kcat.produce(tokens.map(Self.request))
    let receipts = try kcat.receipts(count: tokens.count).map {
      LegReceipt(
        token: $0["token"]?.string ?? "", outcome: $0["outcome"]?.string ?? "",
        status: $0["status"]?.int, reason: $0["reason"]?.string,
        timestamp: $0["timestamp"]?.int, attempts: $0["attempts"]?.int, at: $0["at"]?.int)
    }
    #expect(receipts.count == tokens.count, "\(logs)")
    return receipts
  }

  /// Produces a request for a token, and waits for nothing.
  func request(_ token: String) throws { try kcat.produce([Self.request(token)]) }

  /// Waits until the sender has printed this.
  func senderPrints(_ text: String, withinMilliseconds limit: UInt64 = 60_000) -> Bool {
    programs.first { $0.name == "martlet-sender" }?.program.prints(
      text, withinMilliseconds: limit) ?? false
  }

  private static func request(_ token: String) -> String {
    #"{"app":"\#(RunningSimulator.app)","token":"\#(token)","payload":{"aps":{"alert":"x"}}}"#
  }

  /// Ends the processes, the broker last.
  func stop() {
    for (name, program) in programs.reversed() {
      #expect(program.stop() == 0, "\(name) printed: \(program.output.suffix(2_000))")
    }
  }

  private var logs: String {
    programs.map { "\($0.name) printed: \($0.program.output.suffix(2_000))" }
      .joined(separator: "\n")
  }
}

/// What these tests look at in a receipt.
struct LegReceipt {
  let token: String
  let outcome: String
  let status: Int64?
  let reason: String?
  let timestamp: Int64?
  let attempts: Int64?
  let at: Int64?
}
