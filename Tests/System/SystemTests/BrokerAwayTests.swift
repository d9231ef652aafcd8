// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit
import TestSupport
import Testing

/// What operators expect of processes that start before Kafka does, or without it.
@Suite(.serialized) struct BrokerAwayTests {
  private static let complaint = ServiceKitLog.noBrokerAnswers

  @Test func `every service logs that it waits for the broker, and works once it is there`() throws
  {
    let rig = try PipelineRig()
    try rig.setBroker(#"{"up":false}"#)
    try rig.startServices()
    for name in PipelineRig.services {
      #expect(rig[name].prints(Self.complaint), "\(rig[name].output)")
      #expect(rig[name].output.contains(rig.kafka), "it says where")
      #expect(rig[name].wait(withinMilliseconds: 0) == nil, "\(rig[name].output)")
    }
    try rig.setBroker(#"{"up":true}"#)
    for name in PipelineRig.services {
      #expect(rig.isUp(name), "\(name) printed: \(rig[name].output)")
      #expect(rig[name].output.contains(ServiceKitLog.connected.rawValue))
    }
    rig.stop()
  }

  @Test func `SIGTERM ends a service that waits, at once and with status 0`() throws {
    let rig = try PipelineRig()
    try rig.setBroker(#"{"up":false}"#)
    try rig.startServices()
    for name in PipelineRig.services {
      #expect(rig[name].prints(Self.complaint), "\(rig[name].output)")
    }
    rig.signal(SIGTERM)
    // Far below the 25 s of --stop-timeout.
    rig.expectEnd(withinMilliseconds: 20_000) { $0 == 0 }
    try rig.setBroker(#"{"up":true}"#)
    rig.stop()
  }

  @Test func `a broker that cannot be trusted ends a service with a clear error`() throws {
    let rig = try PipelineRig()
    // A TLS server whose certificate no authority of this system has signed.
    try rig.startSimulator()
    let flags = ["--kafka.security.protocol=ssl"]
    try rig.startServices(flags, kafka: rig.gateway)
    for name in PipelineRig.services {
      #expect(rig[name].wait() == 1, "\(rig[name].output)")
      #expect(rig[name].output.contains("cannot start on Kafka at \(rig.gateway)"))
      #expect(rig[name].output.contains("certificate verify failed"), "\(rig[name].output)")
    }
  }

  @Test func `a topic that is missing ends a service with its name and the remedy`() throws {
    let rig = try PipelineRig()
    try rig.startServices(["--topic-prefix", "other."])
    for name in PipelineRig.services {
      #expect(rig[name].wait() == 1, "\(rig[name].output)")
      #expect(rig[name].output.contains("topic other."), "\(rig[name].output)")
      #expect(rig[name].output.contains("martlet topics create"), "\(rig[name].output)")
    }
  }
}
