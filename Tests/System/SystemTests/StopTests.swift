// SPDX-License-Identifier: Apache-2.0
import Contract
import Glibc
import ServiceKit
import TestSupport
import Testing

/// Every process ends when it is asked to, in bounded time.
@Suite(.serialized) struct StopTests {
  /// Far below the 25 s of `--stop-timeout`, and far above what a busy machine adds.
  private static let soon: UInt64 = 20_000

  /// The four services on a broker of their own; nothing flows.
  private func running(_ flags: [String] = []) throws -> PipelineRig {
    let rig = try PipelineRig()
    try rig.startServices(flags)
    try rig.awaitServices()
    return rig
  }

  @Test func `SIGTERM ends every service with status 0, and SIGHUP none`() throws {
    let rig = try running()
    // A process without a handler would end by the signal, not with status 0.
    rig.signal(SIGHUP)
    rig.signal(SIGTERM)
    rig.expectEnd { $0 == 0 }
    rig.stop()
  }

  @Test(arguments: PipelineRig.services)
  func `SIGTERM that comes while the settings are read ends a service with status 0`(_ name: String)
    throws
  {
    let rig = try PipelineRig()
    let settings = rig.folder.file("settings.properties")
    try #require(mkfifo(settings, 0o600) == 0)
    try rig.start(name, ["--config", settings])
    // The service waits for its settings, and this for the service, which has opened them then.
    var file: Int32 = -1
    expectEventually {
      file = open(settings, O_WRONLY | O_NONBLOCK)
      return file >= 0
    }
    rig.signal(SIGTERM)
    letPass(milliseconds: 100)
    close(file)
    rig.expectEnd { $0 == 0 }
    rig.stop()
  }

  @Test func `a crash ends a service by its signal, and no memory is dumped into the log`() throws {
    let rig = try running()
    rig.signal(SIGSEGV)
    rig.expectEnd { $0 == 128 + SIGSEGV }
    for name in PipelineRig.services {
      #expect(!rig[name].output.contains("Registers"), "\(name) printed: \(rig[name].output)")
    }
  }

  /// A thread of librdkafka 2.0.2 then never ends, and its client neither: nobody waits for it for long.
  @Test
  func `SIGTERM ends a service with status 0, also after its topics were not there for a while`()
    throws
  {
    let rig = try PipelineRig()
    try rig.start("martlet-ingest")
    try #require(rig.isUp("martlet-ingest"), "\(rig["martlet-ingest"].output)")
    let topics = [rig.names.requests, rig.names.notifications(.first)]
    for topic in topics {
      try rig.setTopic(#"{"topic":"\#(topic)","error":"unknown_topic_or_partition"}"#)
    }
    let isGone = rig["martlet-ingest"].prints(ServiceKitLog.topicGone, withinMilliseconds: 40_000)
    #expect(isGone, "\(rig["martlet-ingest"].output.suffix(1_500))")
    for topic in topics { try rig.setTopic(#"{"topic":"\#(topic)"}"#) }
    let isBack = rig["martlet-ingest"].prints(
      ServiceKitLog.topicExistsAgain, withinMilliseconds: 40_000)
    #expect(isBack, "\(rig["martlet-ingest"].output.suffix(1_500))")
    rig.signal(SIGTERM)
    rig.expectEnd(withinMilliseconds: Self.soon) { $0 == 0 }
    rig.stop()
  }

  @Test func `without a broker SIGTERM takes no longer than --stop-timeout`() throws {
    let rig = try running(["--stop-timeout", "3s"])
    rig.killBroker()
    rig.signal(SIGTERM)
    rig.expectEnd(withinMilliseconds: Self.soon) { $0 == 0 || $0 == 1 }
  }

  @Test
  func `without a broker a second SIGTERM ends every service within two seconds or so`() throws {
    let rig = try running()
    rig.killBroker()
    rig.signal(SIGTERM)
    // Two signals that nobody has taken are one.
    for name in PipelineRig.services {
      #expect(rig[name].prints(ServiceKitLog.stopping))
    }
    rig.signal(SIGTERM)
    rig.expectEnd(withinMilliseconds: Self.soon) { $0 == 0 || $0 == 1 }
  }
}
