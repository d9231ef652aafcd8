// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import TestSupport
import Testing

/// What operators hear when a group's offsets were set back while no member ran.
@Suite struct OffsetResetTests {
  private static let program = "martlet-ingest"
  private static let line = ServiceKitLog.offsetsMissing

  @Test func `a group that does its work again says how much, and how to stop it`() throws {
    let rig = try PipelineRig()
    func awaitCommits() throws {
      let isDone = try eventually {
        try rig.committed(rig.names.requests, by: .ingest) == 40
      }
      try #require(isDone, "\(rig[Self.program].output.suffix(1_500))")
    }
    // The first time nothing was there before.
    try rig.produceRequests(0..<40, padding: 0)
    try rig.start(Self.program)
    try awaitCommits()
    #expect(rig[Self.program].prints(ServiceKitLog.groupBegins))
    #expect(!rig[Self.program].output.contains(Self.line.rawValue))
    #expect(rig.stop(Self.program) == 0)
    // After an ordinary restart it goes on.
    try rig.start(Self.program)
    try #require(rig.isUp(Self.program))
    #expect(rig.stop(Self.program) == 0)
    try rig.commitEnds(of: [rig.names.requests], by: .ingest, sessionMilliseconds: 6_000, at: \.low)
    try rig.start(Self.program)
    let isSaid = rig[Self.program].prints(Self.line, withinMilliseconds: 30_000)
    let output = rig[Self.program].output
    #expect(isSaid && output.contains("records=40"), "\(output.suffix(1_500))")
    #expect(output.contains("kafka-consumer-groups.sh --reset-offsets"))
    try awaitCommits()
    rig.stop()
  }
}
