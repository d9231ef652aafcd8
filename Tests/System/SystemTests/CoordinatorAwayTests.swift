// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import ServiceKit
import TestSupport
import Testing

/// A member with a name whose coordinator is away for longer than its session.
@Suite struct CoordinatorAwayTests {
  private static let program = "martlet-ingest"

  /// librdkafka then commits under no member id, for which a coordinator fences the name (librdkafka#3437).
  @Test func `a commit that waited for the coordinator does not end a member with a name`() throws {
    let rig = try PipelineRig()
    try rig.start(Self.program, ["--instance-id", "one"])
    try #require(rig.isUp(Self.program), "\(rig[Self.program].output)")
    let ingest = rig[Self.program]
    // What is done while the coordinator is not found waits to be committed until the session has run out.
    try away(rig, ["offset_commit", "heartbeat", "find_coordinator"])
    try rig.produceRequests(0..<40, padding: 0)
    #expect(
      ingest.prints(
        "\(ServiceKitLog.partitionsRevoked.rawValue) count=24 lost=true", withinMilliseconds: 30_000
      ),
      "\(ingest.output.suffix(1_500))")
    let fenced = Array(repeating: #""fenced_instance""#, count: 3).joined(separator: ",")
    try rig.clearErrors(#"{"request":"offset_commit"}"#)
    try rig.injectErrors(#"{"request":"offset_commit","errors":[\#(fenced)]}"#)
    for request in ["heartbeat", "find_coordinator"] {
      try rig.clearErrors(#"{"request":"\#(request)"}"#)
    }
    #expect(assigned(ingest, 2), "\(ingest.output.suffix(1_500))")
    #expect(comesToRest(ingest), "it spins")
    try rig.clearErrors(#"{"request":"offset_commit"}"#)
    try rig.produceRequests(40..<80, padding: 0)
    #expect(
      try eventually {
        try rig.committed(rig.names.requests, by: .ingest) == 80
      }, "\(ingest.output.suffix(3_000))")
    rig.signal(SIGTERM)
    rig.expectEnd { $0 == 0 }
    rig.stop()
  }

  /// The coordinator answers these requests with an error, for as long as nothing else is said.
  private func away(_ rig: PipelineRig, _ requests: [String]) throws {
    let errors = Array(repeating: #""coordinator_not_available""#, count: 20_000)
    for request in requests {
      try rig.injectErrors(
        #"{"request":"\#(request)","errors":[\#(errors.joined(separator: ","))]}"#)
    }
  }

  /// Whether there comes a second in which it uses less than a third of a core. Until a client with a commit that waits
  /// for the coordinator has ended, which is when the session is over, librdkafka's main thread turns without a pause.
  private func comesToRest(_ program: BuiltProgram) -> Bool {
    var last = (used: program.processorMilliseconds, at: MonotonicClock.milliseconds())
    return eventually(pauseMilliseconds: 1_000) {
      let next = (used: program.processorMilliseconds, at: MonotonicClock.milliseconds())
      guard next.at - last.at >= 900 else { return false }
      defer { last = next }
      return (next.used - last.used) * 3 < Int(next.at - last.at)
    }
  }

  private func assigned(_ program: BuiltProgram, _ times: Int) -> Bool {
    eventually {
      program.output.split(separator: "\n").count {
        $0.contains(ServiceKitLog.partitionsAssigned.rawValue)
      } >= times
    }
  }
}
