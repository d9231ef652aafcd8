// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import SenderDecisions
import TestSupport
import Testing

/// Every process with the few open files that a login shell or a container may leave it.
@Suite(.serialized) struct FewOpenFilesTests {
  private static let files = 256
  /// More than connections can be open.
  private static let credentials = 300

  /// Gives the signer so many credentials, each for one app.
  private func writeCredentials(_ rig: PipelineRig) throws -> String {
    let made = try File.text(rig.keys + "/credentials.json")
    let keyID = try #require(made.firstMatch(of: #/"key_id": *"([^"]+)"/#)).1
    let keyFile = try #require(made.firstMatch(of: #/"key_file": *"([^"]+)"/#)).1
    let all = (0..<Self.credentials).map { number in
      #"{"key_id":"\#(keyID)","key_file":"\#(keyFile)","team_id":"TEAM\#(100_000 + number)","#
        + #""apps":["com.example.a\#(number)"]}"#
    }
    let path = rig.keys + "/many.json"
    let list = #"{"credentials":[\#(all.joined(separator: ","))]}"#
    try File.write(path, Array(list.utf8))
    return path
  }

  @Test
  func `300 credentials with 256 open files: the sender says so, and everything is delivered once`()
    throws
  {
    let rig = try PipelineRig()
    // It knows one key.
    try rig.startSimulator(["--profile", "fast"])
    rig.under = [try SystemProgram.path("prlimit"), "--nofile=\(Self.files)"]
    let credentials = try writeCredentials(rig)
    try rig.start("martlet-ingest")
    try rig.start("martlet-signer", ["--credentials", credentials])
    try rig.start("martlet-feedback")
    try rig.start("martlet-sender", ["--loops", "2"])
    try rig.awaitServices()
    let sender = rig["martlet-sender"]
    #expect(sender.output.contains(SenderLog.fewOpenFiles.rawValue))
    try rig.produce(rig.names.requests, 0..<900) { number in
      (
        PipelineRig.token(number),
        #"{"app":"com.example.a\#(number % Self.credentials)","token":"\#(PipelineRig.token(number))","payload":{"aps":{"alert":"x"}}}"#
      )
    }
    #expect(
      eventually { sender.counter("delivered") == 900 },
      "\(sender.output.suffix(3_000))")
    #expect(sender.counter("connections_lost") == 0)
    #expect(sender.counter("ambiguous") == 0)
    rig.stop()
  }
}
