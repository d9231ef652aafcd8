// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTPClient
import Kafka
import Records
import TestSupport
import Testing

/// `martlet canary` beside a whole pipeline.
@Suite(.serialized) struct CanaryTests {
  private static let app = "com.example.app"

  /// A pipeline with the simulator, in which device 7 is unregistered.
  private func pipeline() throws -> PipelineRig {
    let rig = try PipelineRig()
    try rig.startSimulator(unregistered: 7..<8)
    try rig.startServices()
    try rig.awaitServices()
    return rig
  }

  /// Starts canaries to devices of these numbers; where its pages are.
  private func startCanary(_ rig: PipelineRig, _ devices: [Int], timeout: String) throws -> String {
    let canaries = devices.map { "\(Self.app),production,\(Self.target($0)),1s" }
    let port = try FreePort.find()
    try rig.start(
      "martlet",
      ["--canary", canaries.joined(separator: " "), "--canary-timeout", timeout]
        + ["--http", "127.0.0.1:\(port)"], subcommand: ["canary"])
    return "127.0.0.1:\(port)"
  }

  /// Tokens that differ in their first eight digits, by which canaries are known.
  private static func target(_ device: Int) -> String {
    device == 7 ? PipelineRig.token(7) : String(repeating: "c\(device)", count: 32)
  }

  private func value(_ name: String, _ device: Int, _ address: String) -> String? {
    let target = Self.target(device).prefix(8)
    let labels = #"{app="\#(Self.app)",environment="production",target="\#(target)"}"#
    let page = (try? HTTPClient().get("http://\(address)/metrics"))?.text ?? ""
    let line = page.split(separator: "\n").first { $0.hasPrefix(name + labels + " ") }
    return line.map { String($0.split(separator: " ").last ?? "") }
  }

  private func becomes(_ device: Int, _ success: String, _ address: String) -> Bool {
    eventually {
      value("martlet_canary_success", device, address) == success
    }
  }

  @Test func `a canary is green while pushes arrive, and red while the sender is stopped`() throws {
    let rig = try pipeline()
    defer { rig.stop() }
    let address = try startCanary(rig, [1], timeout: "5s")
    #expect(becomes(1, "1", address), "\(rig["martlet"].output.suffix(1_500))")
    #expect(value("martlet_canary_last_success_timestamp_seconds", 1, address) != nil)
    // On a busy machine a receipt may be late now and then.
    try expectEventually {
      try BuiltProgram.run(
        ChildProcess.sibling("martlet"), ["status", address], in: rig.folder
      ).output.contains("canaries     1 of 1 delivered")
    }
    #expect(rig.stop("martlet-sender") == 0)
    #expect(becomes(1, "0", address))
    // The line follows the figure.
    #expect(
      rig["martlet"].prints("no_receipt"),
      "\(rig["martlet"].output.suffix(1_500))")
    try rig.start("martlet-sender")
    #expect(becomes(1, "1", address))
  }

  @Test func `a canary whose device is gone is red, and the others stay green`() throws {
    let rig = try pipeline()
    defer { rig.stop() }
    let address = try startCanary(rig, [1, 7], timeout: "30s")
    #expect(becomes(1, "1", address), "\(rig["martlet"].output.suffix(1_500))")
    #expect(becomes(7, "0", address))
    // The token is invalid now: nothing is sent any more.
    #expect(rig["martlet"].prints("suppressed"))
    #expect(becomes(1, "1", address))
    try expectPrefixes(rig)
  }

  /// Whoever reads receipts can leave a canary's out by the request id.
  private func expectPrefixes(_ rig: PipelineRig) throws {
    var ids: [String] = []
    let isRead = try rig.readReceipts(
      { ids.append($0["id"]?.string ?? "none") }, until: { ids.count >= 4 })
    #expect(isRead)
    #expect(ids.allSatisfy { $0.hasPrefix("martlet-canary:") }, "\(ids)")
  }
}
