// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import Scheduler

/// Campaigns that stop themselves.
extension CampaignTests {
  @Test func `a campaign stops itself after its first part`() throws {
    let (fixture, devices, database) = try Self.filled(2_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try fixture.start(
      Self.campaign(
        "bad", more: #","first":{"percent":1,"wait_seconds":0},"stop":{"rejected_percent":20}"#))
    Self.expectProgress(database, "bad") { $0.state == .trial }
    #expect(try #require(try Self.shown(database, "bad")).progress.addressed == 10)
    func receipt(_ outcome: String) -> String { Self.line("bad", Outcome(outcome.utf8.span)!) }
    let lines = [receipt("delivered"), receipt("rejected"), receipt("rejected")]
    try fixture.produce(fixture.names.receipts, lines.joined(separator: "\n"))
    try fixture.produce(fixture.names.receipts, receipt("rejected"))
    Self.expectProgress(database, "bad") { $0.state == .stopped }
    let campaign = try #require(try Self.shown(database, "bad"))
    #expect(campaign.progress.reason?.hasSuffix("pushes were rejected") == true)
    #expect(campaign.progress.addressed == 10 && campaign.outcomes[.rejected] == 3)
    #expect(scheduler.counter("campaigns_stopped") == 1)
    let state = SchedulerMetrics.campaignState.metric.name
    expectEventually {
      scheduler.context.counters.samples.contains {
        $0.metric.name == state && $0.labels[3] == "stopped"
      }
    }
    #expect(scheduler.stop() == nil)
  }

  @Test func `what is addressed and not sent ends when a campaign stops itself: senders are told`()
    throws
  {
    let (fixture, devices, database) = try Self.filled(1_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try fixture.start(
      Self.campaign("bad", more: #","pace":"20/s","stop":{"unregistered_percent":10}"#))
    Self.expectProgress(database, "bad") { $0.addressed > 0 }
    let lines = (0..<100).map { _ in
      Self.line("bad", .rejected, status: 410, reason: "Unregistered")
    }
    try fixture.produce(fixture.names.receipts, lines.joined(separator: "\n"))
    Self.expectProgress(database, "bad") { $0.state == .stopped }
    func control() throws -> ReadRecord? {
      try fixture.readAll(fixture.names.controls).last { $0.key == "\(Self.key("bad"))" }
    }
    try expectEventually {
      try control()?.value?.contains(#""cancelled":true"#) == true
    }
    #expect(try control()?.value?.contains("martlet-scheduler") == true)
    #expect(scheduler.stop() == nil)
  }

  @Test
  func `another campaign that begins blinds no stop rule, and counts from its own start`() throws {
    let (fixture, devices, database) = try Self.filled(1_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try fixture.start(
      Self.campaign("first", more: #","pace":"10/s","stop":{"rejected_percent":60}"#))
    func counted(_ name: String) -> Int? { (try? Self.shown(database, name))??.outcomes.total }
    Self.expectProgress(database, "first") { $0.addressed == 300 }
    let fifty = (0..<50).map { _ in Self.line("first", .rejected) }.joined(separator: "\n")
    try fixture.produce(fixture.names.receipts, fifty)
    #expect(eventually { counted("first") == 50 })
    try fixture.start(Self.campaign("second", more: #","pace":"1/s""#))
    Self.expectProgress(database, "second") { $0.addressed > 0 }
    try fixture.produce(fixture.names.receipts, Self.line("second") + "\n" + Self.line("first"))
    #expect(
      eventually { counted("second") == 1 && counted("first") == 51 })
    // An older one comes to this process: its past is read beside, and nothing is counted twice.
    let old = try Self.campaign("old", more: #","pace":"1/s","stop":{"rejected_percent":90}"#)
    usleep(20_000)
    try fixture.produce(fixture.names.receipts, Self.line("old"))
    try fixture.start(old)
    #expect(eventually { counted("old") == 1 })
    try fixture.produce(fixture.names.receipts, Self.line("old") + "\n" + fifty)
    #expect(eventually { counted("old") == 2 })
    Self.expectProgress(database, "first") { $0.state == .stopped }
    #expect(try Self.shown(database, "first")?.progress.reason == "100 of 101 pushes were rejected")
    #expect(scheduler.stop() == nil)
  }

  /// The scheduler removes the control of an earlier campaign of this name while somebody cancels the new one.
  @Test func `a cancel that a removal has overtaken is in effect, and is written again`() throws {
    let (fixture, devices, database) = try Self.filled(100)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    let campaign = try Self.campaign("sale", more: #","pace":"1/s""#)
    try fixture.start(campaign)
    Self.expectProgress(database, "sale") { $0.addressed > 0 }
    let (topic, key) = (fixture.names.controls, "\(campaign.key)")
    let before = KafkaHeader(ControlRecord.beforeHeader, "\(campaign.at)")
    try fixture.produce(topic, key: key, #"{"paused":true,"at":\#(campaign.at),"by":"ann"}"#)
    try fixture.produce(topic, key: key, nil, headers: [before])
    Self.expectProgress(database, "sale") { $0.isPaused }
    func control() throws -> String? {
      try fixture.readAll(topic).last { $0.key == key }?.value
    }
    try expectEventually { try control()?.contains(#""paused":true"#) == true }
    try fixture.produce(topic, key: key, #"{"cancelled":true,"at":\#(campaign.at),"by":"ann"}"#)
    try fixture.produce(topic, key: key, nil, headers: [before])
    Self.expectProgress(database, "sale") { $0.state == .cancelled }
    try expectEventually { try control()?.contains(#""cancelled":true"#) == true }
    #expect(try Self.shown(database, "sale")?.progress.reason == "cancelled by ann")
    #expect(scheduler.stop() == nil)
  }

  @Test func `a removal is of controls before the campaign, and of all without a time`() throws {
    let campaign = try Self.campaign("sale")
    func controls(at: Int64, before: Int64?) -> CampaignControls {
      var controls = CampaignControls(.standard)
      let value = Array(#"{"cancelled":true,"at":\#(at),"by":"ann"}"#.utf8)
      value.withUnsafeBytes { controls.note("\(campaign.key)", $0) }
      controls.note("\(campaign.key)", nil, before: before)
      return controls
    }
    let kept = controls(at: campaign.at, before: campaign.at)
    #expect(kept.control(of: campaign)?.cancelledBy == "ann" && kept.isOvertaken(campaign.key))
    for gone in [
      controls(at: campaign.at - 1, before: campaign.at), controls(at: campaign.at, before: nil),
    ] {
      #expect(!gone.has(campaign.key) && !gone.isOvertaken(campaign.key))
    }
  }

  @Test func `a control of an own campaign is kept however many others there are`() throws {
    let campaign = try Self.campaign("sale")
    var controls = CampaignControls(.standard)
    let value = Array(#"{"cancelled":true,"at":\#(campaign.at),"by":"ann"}"#.utf8)
    value.withUnsafeBytes { bytes in
      for number in 0..<20_000 { controls.note("\(Self.key("\(number)"))", bytes) }
      controls.note("\(campaign.key)", bytes)
    }
    #expect(controls.control(of: campaign) == nil)
    // Without it, the scheduler would write it again each time that it has read it.
    value.withUnsafeBytes { controls.note("\(campaign.key)", $0, isOwn: true) }
    #expect(controls.control(of: campaign)?.cancelledBy == "ann")
  }

  @Test func `paces that were cleared leave room for others`() throws {
    let campaign = try Self.campaign("sale")
    let rate = try #require(PaceRate("6/m"))
    var controls = CampaignControls(.standard)
    for number in 0..<20_001 {
      let group = PaceSubject.group(Self.app, campaign.key.environment, "\(number)")
      controls.set(group, rate)
      controls.set(group, nil)
    }
    controls.set(.lane("bulk"), rate)
    #expect(controls.pace(of: campaign) == rate.perMillisecond)
  }
}
