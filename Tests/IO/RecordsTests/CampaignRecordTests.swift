// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import JSON
import Schedule
import Testing

@testable import Records

/// The record of a campaign, as its author and the scheduler write it.
@Suite struct CampaignRecordTests {
  private static func read(_ json: String, at: Int64? = 1_000_000_000_000) throws(RecordError)
    -> CampaignRecord
  {
    try Array(json.utf8).withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try CampaignRecord(json: bytes, at: at, by: "ann", parser: JSONParser())
      }
    }.get()
  }

  private static func json(
    _ name: String = "sale", request: String = #"{"app":"a.b","payload":{"aps":{"alert":"x"}}}"#,
    audience: String = "{}", more: String = ""
  ) -> String {
    #"{"campaign":"\#(name)","request":\#(request),"audience":\#(audience)\#(more)}"#
  }

  @Test func `a campaign is written and read back`() throws {
    var campaign = try Self.read(
      Self.json(
        audience:
          #"{"locale":"de","app_version":"3.2","bundle":"x.y","tags_any":["a","b"],"tags_all":["c"],"registered_since":"2026-01-01T00:00:00Z"}"#,
        more:
          #","send_at":1000003600,"first":{"percent":0.5,"wait_seconds":120},"pace":"200/s","stop":{"rejected_percent":2,"unregistered_percent":0.7,"unregistered_times":5,"slower_than_ms":2000}"#
      ))
    #expect(campaign.plan.startAt == 1_000_003_600_000)
    #expect(campaign.plan.trial == .init(share: 0.005, wait: 120_000))
    #expect(
      campaign.plan.limits
        == CampaignLimits(
          rejected: 0.02, unregistered: 0.7 / 100, unregisteredTimes: 5, slowerThan: 2_000))
    #expect(campaign.pace == PaceRate("200/s") && campaign.plan.hasPace)
    #expect(campaign.audience.app == "a.b" && campaign.audience.tagsAny == ["a", "b"])
    campaign.progress.revision = 3
    campaign.progress.state = .trial
    (campaign.progress.total, campaign.progress.cursor) = (10, "ab")
    campaign.progress.hasSetPace = true
    (campaign.progress.trialEndedAt, campaign.progress.reason) = (5, "x")
    campaign.outcomes = ["delivered": 7]
    campaign.rates = CampaignRates(at: 1_000_000_000_005, addressed: 12.5, outcomes: 7)
    let again = try campaign.value.withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    #expect(again == campaign)
    #expect(
      try campaign.value.withUnsafeBytes { try CampaignRecord.revision($0, key: "campaign:sale") }
        == 3)
  }

  @Test func `a campaign by local time is written and read back`() throws {
    // 46 hours after its start, by UTC.
    var campaign = try Self.read(
      Self.json(more: #","send_at":"2001-09-11T00:00:00.5","time_zone":"Asia/Kathmandu""#))
    let local = CampaignPlan.LocalTime(time: 1_000_166_400_500, zone: "Asia/Kathmandu")
    #expect(campaign.plan.local == local && campaign.startText == "2001-09-11T00:00:00.500")
    #expect(campaign.plan.startAt == 1_000_166_400_500 - 14 * 3_600_000)
    (campaign.progress.revision, campaign.progress.wave) = (1, 1_000_146_600_500)
    let again = try campaign.value.withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    #expect(again == campaign)
    let standing = campaign.standing(now: 1_000_000_000_000, isPaused: nil)
    #expect(standing["wave"] == "2001-09-10T18:30:00.500Z")
    #expect(standing["send_at"] == "2001-09-11T00:00:00.500")
    #expect(standing["time_zone"] == "Asia/Kathmandu")
    try campaign.checkZone()
    let plain = try Self.read(Self.json(more: #","send_at":"2001-09-11T00:00:00""#))
    #expect(plain.plan.local?.zone == "UTC")
    try plain.checkZone()
    // The first instant at which it is that time somewhere is the campaign's own start.
    #expect(try Self.read(Self.json(more: #","send_at":"2001-09-09T15:46:40""#)).plan.local != nil)
  }

  @Test func `a zone that is not known is refused when a campaign is started`() throws {
    let campaign = try Self.read(
      Self.json(more: #","send_at":"2001-09-11T00:00:00","time_zone":"Europe/Atlantis""#))
    func revision(_ campaign: CampaignRecord) throws {
      _ = try campaign.value.withUnsafeBytes {
        try CampaignRecord.revision($0, key: "campaign:sale")
      }
    }
    let error = #expect(throws: RecordError.self) { try revision(campaign) }
    #expect(error?.field == "time_zone" && error?.problem.contains("tzdata") == true)
    // One that goes on is read also where the time zone database is missing.
    var later = campaign
    later.progress.revision = 1
    try revision(later)
  }

  @Test func `the audience of a campaign may be a topic of device tokens`() throws {
    let campaign = try Self.read(Self.json(audience: #"{"topic":"vips","locale":null}"#))
    #expect(
      campaign.audience
        == .init(
          app: "a.b", environment: .production, type: "alert", tokenTopic: "vips"))
    let again = try campaign.value.withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    #expect(again == campaign)
    #expect(campaign.summary["audience"] == ["topic": "vips"])
  }

  @Test func `a file of device tokens is given in place of an audience`() throws {
    func read(_ audience: String) throws(RecordError) -> Audience {
      let json =
        #"{"campaign":"sale","request":{"app":"a.b","payload":{"aps":{"alert":"x"}}}\#(audience)}"#
      return try Array(json.utf8).withUnsafeBytes { bytes in
        Result { () throws(RecordError) in
          try CampaignRecord(
            json: bytes, at: 1_000_000_000_000, by: "ann", tokenTopic: "push.audiences",
            parser: JSONParser())
        }
      }.get().audience
    }
    for audience in ["", #","audience":null"#, #","audience":{"topic":"push.audiences"}"#] {
      #expect(try read(audience).tokenTopic == "push.audiences")
    }
    for audience in ["{}", #"{"locale":"de"}"#, #"{"topic":"vips"}"#, "1"] {
      #expect(throws: RecordError.self) { try read(#","audience":"# + audience) }
    }
  }

  @Test func `how a campaign stands is told without its request and without a device token`() throws
  {
    var campaign = try Self.read(
      Self.json(audience: #"{"locale":"de"}"#, more: #","stop":{"rejected_percent":2}"#))
    let before = campaign.standing(now: 1_000_000_000_000, isPaused: true)
    #expect(before["state"] == "scheduled" && before["paused"] == true && before["total"] == nil)
    #expect(before["rejected_percent"] == nil && before["seconds_left"] == nil)
    campaign.progress.revision = 3
    (campaign.progress.state, campaign.progress.cursor) = (.stopped, "abcd")
    (campaign.progress.total, campaign.progress.addressed) = (1_000, 200)
    (campaign.progress.endedAt, campaign.progress.reason) = (7, "too many")
    campaign.outcomes = ["rejected": 9, "delivered": 111, "deduplicated": 50]
    campaign.rates = CampaignRates(at: 1_000_000_000_000, addressed: 0, outcomes: 2)
    let text = JSONValue.object(campaign.standing(now: 1_000_000_060_000, isPaused: nil)).text
    #expect(
      String(decoding: text, as: UTF8.self)
        == #"{"campaign":"sale","app":"a.b","environment":"production","state":"stopped","#
        + #""at":1000000000000,"by":"ann","send_at":"2001-09-09T01:46:40.000Z","#
        + #""audience":{"locale":"de"},"stop":{"rejected_percent":2.0},"total":1000,"#
        + #""addressed":200,"outcomes":{"deduplicated":50,"delivered":111,"rejected":9},"#
        + #""rejected_percent":7.5,"addressed_per_second":0.0,"outcomes_per_second":2.0,"#
        + #""seconds_left":40,"ended_at":7,"reason":"too many"}"#)
    // The process that has measured that is gone.
    let later = campaign.standing(now: 1_000_000_060_001, isPaused: nil)
    #expect(later["seconds_left"] == nil && later["outcomes_per_second"] == .double(0))
  }

  @Test func `the requests of a campaign have its id and group, and the lane for bulk`() throws {
    let campaign = try Self.read(Self.json())
    let text = String(decoding: campaign.request(tokens: Array(#""ab","cd""#.utf8)), as: UTF8.self)
    #expect(
      text
        == #"{"id":"campaign:sale","group":"sale","lane":"bulk","app":"a.b","payload":{"aps":{"alert":"x"}},"tokens":["ab","cd"]}"#
    )
    let urgent = try Self.read(
      Self.json(request: #"{"app":"a.b","lane":"transactional","payload":{}}"#))
    #expect(!String(decoding: urgent.request(tokens: []), as: UTF8.self).contains("bulk"))
    #expect(throws: (any Error).self) {
      try Self.read(Self.json(request: #"{"app":"a.b","payload":{"aps":{}},"priority":11}"#))
        .checkRequest(RequestReader())
    }
  }

  @Test(arguments: [
    Self.json("a b"), Self.json(""), Self.json(String(repeating: "a", count: 65)),
    Self.json(more: #","audiance":{}"#), Self.json(audience: #"{"langauge":"de"}"#),
    Self.json(audience: #"{"tags_any":["a b"]}"#), Self.json(audience: #"{"tags_any":[]}"#),
    Self.json(audience: #"{"registered_since":"yesterday"}"#), Self.json(audience: "[]"),
    Self.json(audience: #"{"topic":""}"#), Self.json(audience: #"{"topic":"a b"}"#),
    Self.json(audience: #"{"topic":1}"#), Self.json(audience: #"{"topic":"a","locale":"de"}"#),
    Self.json(audience: #"{"topic":"a","tags_any":["b"]}"#),
    Self.json(audience: #"{"topic":"\#(String(repeating: "a", count: 250))"}"#),
    Self.json(request: #"{"payload":{}}"#), Self.json(request: "[]"),
    Self.json(request: #"{"app":"a.b","payload":{},"token":"ab"}"#),
    Self.json(request: #"{"app":"a.b","payload":{},"user":"ann"}"#),
    Self.json(request: #"{"app":"a.b","payload":{},"send_at":1}"#),
    Self.json(request: #"{"app":"a.b","payload":{},"id":"x"}"#),
    Self.json(request: #"{"app":"a.b","environment":"test","payload":{}}"#),
    Self.json(request: #"{"app":"a.b","environment":1,"payload":{}}"#),
    Self.json(more: #","send_at":999999999"#),
    Self.json(more: #","send_at":1003600000"#), Self.json(more: #","send_at":1000003600000"#),
    // Over in UTC+14 when it starts; a zone for a time with an offset, or that can be no zone.
    Self.json(more: #","send_at":"2001-09-09T15:46:39""#),
    Self.json(more: #","send_at":"2001-10-10T00:00:00""#),
    Self.json(more: #","send_at":"2001-09-11T00:00:00Z","time_zone":"UTC""#),
    Self.json(more: #","send_at":"2001-09-11T00:00","time_zone":"UTC""#),
    Self.json(more: #","send_at":1000003600,"time_zone":"UTC""#),
    Self.json(more: #","time_zone":"UTC""#),
    Self.json(more: #","send_at":"2001-09-11T00:00:00","time_zone":"""#),
    Self.json(more: #","send_at":"2001-09-11T00:00:00","time_zone":"../x""#),
    Self.json(more: #","send_at":"2001-09-11T00:00:00","time_zone":"/UTC""#),
    Self.json(more: #","send_at":"2001-09-11T00:00:00","time_zone":1"#),
    Self.json(more: #","first":{"percent":1,"wait_seconds":1}"#),
    Self.json(more: #","stop":{"rejected_percent":0}"#),
    Self.json(more: #","stop":{"unregistered_times":0}"#),
    Self.json(more: #","stop":{"slower_than_ms":"1"}"#), Self.json(more: #","pace":"0/s""#),
    Self.json(more: #","pace":200"#), Self.json(more: #","pace":"200/w""#),
    Self.json(more: #","stop":{"rejected_percent":101}"#), Self.json(more: #","stop":{}"#),
    Self.json(more: #","stop":{"rejected_percent":2},"first":{"percent":1}"#),
    Self.json(more: #","progress":{"revision":1,"state":"done","addressed":0}"#),
    #"{"campaign":"a","request":{"app":"a.b","payload":{}}}"#, "{}", "[]", "x",
  ])
  func `mistakes are refused`(_ json: String) {
    #expect(throws: RecordError.self, "\(json)") { try Self.read(json) }
  }

  @Test func `a record with another name than its key, or with a bad request, cannot be read`()
    throws
  {
    func revision(_ campaign: CampaignRecord, _ key: String) throws -> Int64 {
      try campaign.value.withUnsafeBytes { try CampaignRecord.revision($0, key: key) }
    }
    #expect(try revision(Self.read(Self.json()), "campaign:sale") == 0)
    #expect(throws: RecordError.self) { try revision(Self.read(Self.json()), "campaign:sales") }
    let bad = try Self.read(
      Self.json(request: #"{"app":"a.b","payload":{"aps":{}},"priority":11}"#))
    #expect(throws: RecordError.self) { try revision(bad, "campaign:sale") }
    #expect(CampaignRecord.name(ofKey: "campaign:a.b-c_1") == "a.b-c_1")
    #expect(CampaignRecord.name(ofKey: "campaign:") == nil)
    #expect(CampaignRecord.name(ofKey: "a.b:production:campaign:x") == nil)
  }
}
