// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTPClient
import ServiceKit
import TestSupport
import Testing

/// What operators see of a coordinator that answers, but takes no commit, as while its own topic lacks replicas.
@Suite struct RefusedCommitsTests {
  private static let program = "martlet-ingest"

  @Test
  func `refused commits are counted and reported, not timed, and their end is reported`() throws {
    let rig = try PipelineRig()
    try rig.start(Self.program)
    try #require(rig.isUp(Self.program), "\(rig[Self.program].output)")
    let ingest = rig[Self.program]
    let errors = Array(repeating: #""coordinator_not_available""#, count: 10_000)
    try rig.injectErrors(
      #"{"request":"offset_commit","errors":[\#(errors.joined(separator: ","))]}"#)
    try rig.produceRequests(0..<40, padding: 0)
    try expectEventually {
      try value("martlet_kafka_commits_refused_total", ingest) > 0
    }
    let timed = try value("martlet_kafka_commit_seconds_count", ingest)
    #expect(
      !ingest.output.contains(ServiceKitLog.commitsRefused.rawValue), "a short refusal is no news")
    #expect(
      ingest.prints(ServiceKitLog.commitsRefused, withinMilliseconds: 30_000),
      "\(ingest.output.suffix(1_500))")
    #expect(ingest.output.contains("COORDINATOR_NOT_AVAILABLE"))
    #expect(try value("martlet_kafka_commit_seconds_count", ingest) == timed)
    try rig.clearErrors(#"{"request":"offset_commit"}"#)
    #expect(ingest.prints(ServiceKitLog.commitsAccepted, withinMilliseconds: 30_000))
    try expectEventually { try rig.committed(rig.names.requests, by: .ingest) == 40 }
    rig.stop()
  }

  /// A metric without labels on a process's page; 0 while it is not there.
  private func value(_ name: String, _ program: BuiltProgram) throws -> Int {
    guard let page = StatusPageURL.find(in: program.output) else { return 0 }
    let lines = try HTTPClient().get("\(page)/metrics").text.split(separator: "\n")
    let line = lines.first { $0.hasPrefix("\(name) ") }
    return line.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
  }
}
