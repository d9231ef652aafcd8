// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTPClient
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

/// `martlet pause` and `martlet resume` on a running pipeline.
@Suite(.serialized) struct PauseTests {
  private func request(
    _ rig: PipelineRig, _ numbers: Range<Int>, app: String, lane: Lane, of lanes: Lanes = .standard
  ) throws {
    try rig.produce(rig.names.requests, numbers) { number in
      (
        PipelineRig.token(number),
        #"{"id":"r\#(number)","app":"\#(app)","token":"\#(PipelineRig.token(number))","#
          + #""lane":"\#(lanes.name(lane))","payload":{"aps":{"alert":"x"}}}"#
      )
    }
  }

  /// Which of the requests have been delivered once `count` have.
  private func delivered(_ rig: PipelineRig, count: Int) throws -> Set<Int> {
    var numbers: Set<Int> = []
    let isRead = try rig.readReceipts(
      { receipt in
        guard receipt["outcome"] == "delivered", let id = receipt["id"]?.string else { return }
        numbers.insert(Int(id.dropFirst()) ?? -1)
      }, until: { numbers.count >= count })
    #expect(isRead, "only \(numbers.sorted()) were delivered")
    return numbers
  }

  private func pipeline(lanes: [String] = []) throws -> PipelineRig {
    let rig = try PipelineRig(broker: lanes)
    try rig.startSimulator()
    for name in PipelineRig.services {
      try rig.start(name, ["martlet-ingest", "martlet-sender"].contains(name) ? lanes : [])
    }
    try rig.awaitServices()
    return rig
  }

  @Test func `a paused app's pushes wait, also over a restart, while another app's are delivered`()
    throws
  {
    let rig = try pipeline()
    defer { rig.stop() }
    #expect(try rig.martlet(["pause"]) == "nothing is paused\n")
    _ = try rig.martlet(["pause", "com.example.chat", "--reason", "wrong text"])
    let sign = "what=com.example.chat:production"
    #expect(rig["martlet-sender"].prints(sign))
    #expect(rig.stop("martlet-sender") == 0)
    try rig.start("martlet-sender")
    // The same credential serves both.
    try request(rig, 0..<20, app: "com.example.chat", lane: .first)
    try request(rig, 20..<40, app: "com.example.app", lane: .first)
    #expect(try delivered(rig, count: 20) == Set(20..<40))
    let listed = try rig.martlet(["pause"])
    #expect(listed.hasPrefix("com.example.chat:production  since "), "\(listed)")
    #expect(listed.contains(": wrong text"))
    let resumed = try rig.martlet(["resume", "com.example.chat"])
    #expect(resumed.hasSuffix("resumed com.example.chat:production\n"), "\(resumed)")
    #expect(resumed.contains("deed=resume"), "who did what is written down: \(resumed)")
    #expect(try delivered(rig, count: 40) == Set(0..<40))
    #expect(try rig.martlet(["pause"]) == "nothing is paused\n")
  }

  @Test
  func `three lanes of an operator's own: topics, pause, receipts and metrics follow the list`()
    throws
  {
    let text = "code:10:15m:30%,news:3:1d:10%,sale:1"
    let lanes = try Lanes([
      .init("code", weight: 10, maxAge: 900_000, reserved: 30),
      .init("news", weight: 3, maxAge: 86_400_000, reserved: 10),
      .init("sale", weight: 1, maxAge: 86_400_000),
    ])
    let names = TopicNames(lanes: lanes)
    let rig = try pipeline(lanes: ["--lanes", text])
    defer { rig.stop() }
    _ = try rig.martlet(["pause", "--lane", "news"])
    #expect(rig["martlet-sender"].prints("what=lane:news"))
    for lane in lanes.all {
      let first = 20 * Int(lane.place)
      try request(rig, first..<first + 20, app: "com.example.app", lane: lane, of: lanes)
    }
    #expect(try delivered(rig, count: 40) == Set(0..<20).union(40..<60))
    #expect(try rig.committed(names.notifications[1], by: .sender) <= 0)
    #expect(names.notifications[1] == "push.notifications.news")
    _ = try rig.martlet(["resume", "--lane", "news"])
    #expect(try delivered(rig, count: 60) == Set(0..<60))
    let url = try #require(StatusPageURL.find(in: rig["martlet-sender"].output))
    let page = try MetricPage(HTTPClient().get(url + "/metrics").text)
    for name in ["code", "news", "sale"] {
      let labels = ["outcome": "delivered", "lane": name, "environment": "production"]
      #expect(page.sum("martlet_sender_notifications_total", labels) == 20)
    }
    // A lane that nobody lists is a mistake of the request.
    try request(rig, 60..<61, app: "com.example.app", lane: .bulk)
    var refusal = ""
    let isRefused = try rig.read(
      rig.names.receipts, { refusal += $0.value ?? "" },
      until: { refusal.contains(#""id":"r60""#) })
    #expect(isRefused && refusal.contains("code, news, sale"), "\(refusal.suffix(600))")
  }
}
