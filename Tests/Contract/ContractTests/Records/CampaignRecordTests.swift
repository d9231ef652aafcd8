// SPDX-License-Identifier: Apache-2.0
import Contract
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

  @Test func `a control is not older than its campaign, whatever the clocks`() throws {
    let campaign = try Self.read(Self.json(), at: 1_795_000_000_000)
    for now in [campaign.at - 60_000, campaign.at + 60_000] {
      let author = campaign.author(now: now, by: "ann", reason: nil)
      let value = ControlRecord.value(.init(key: "cancelled", value: .bool(true)), by: author)
      let control = value.withUnsafeBytes { ControlRecord.campaign($0) }
      #expect(control?.at == max(campaign.at, now))
    }
  }

  /// A character may have any number of marks.
  @Test func `of who cancelled a campaign the beginning is kept`() {
    let author = ControlRecord.Author(
      at: 1_795_000_000_000, by: "é" + String(repeating: "\u{301}", count: 1_000), reason: nil)
    let value = ControlRecord.value(.init(key: "cancelled", value: .bool(true)), by: author)
    let control = value.withUnsafeBytes { ControlRecord.campaign($0)?.control }
    #expect(control?.cancelledBy?.utf8.count == 256)
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
    (campaign.progress.isPaused, campaign.progress.note) = (true, "it waits")
    (campaign.progress.trialEndedAt, campaign.progress.reason) = (5, "x")
    campaign.outcomes = CampaignCounts([("delivered", 7)])
    campaign.rates = CampaignRates(at: 1_000_000_000_005, addressed: 12.5, outcomes: 7)
    let again = try campaign.value.withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    #expect(again == campaign)
    #expect(
      try campaign.value.withUnsafeBytes {
        try CampaignRecord.revision(
          $0, key: "campaign:sale:a.b:production", AudienceTopics(TopicNames()))
      }
        == 3)
  }

  @Test(arguments: ["1e-10", "4.9e-10", "0.7", "33.333333333333336", "99.99999999999999", "100"])
  func `a share is read back as it was written, however small`(_ percent: String) throws {
    let more =
      #","first":{"percent":\#(percent),"wait_seconds":0},"#
      + #""stop":{"rejected_percent":\#(percent)}"#
    let campaign = try Self.read(Self.json(more: more))
    let again = try campaign.value.withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    let share = try #require(again.plan.trial?.share)
    #expect(abs(share - (Double(percent) ?? 0) / 100) <= share.ulp)
    #expect(again.plan.limits.rejected == share)
    // Written once more, it changes no further.
    #expect(again.value == campaign.value)
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
        try CampaignRecord.revision(
          $0, key: "campaign:sale:a.b:production", AudienceTopics(TopicNames()))
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
        == .init(app: "a.b", environment: .production, type: "alert", tokenTopic: "vips"))
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
    campaign.outcomes = CampaignCounts([("rejected", 9), ("delivered", 111), ("deduplicated", 50)])
    campaign.rates = CampaignRates(at: 1_000_000_000_000, addressed: 0, outcomes: 2)
    let text = JSONValue.object(campaign.standing(now: 1_000_000_060_000, isPaused: nil)).text
    #expect(
      String(decoding: text, as: UTF8.self)
        == #"{"campaign":"sale","app":"a.b","environment":"production","state":"stopped","paused":false,"#
        + #""at":1000000000000,"by":"ann","send_at":"2001-09-09T01:46:40.000Z","#
        + #""audience":{"locale":"de"},"stop":{"rejected_percent":2.0},"total":1000,"#
        + #""addressed":200,"without_outcome":30,"outcomes":{"deduplicated":50,"delivered":111,"rejected":9},"#
        + #""rejected_percent":7.5,"addressed_per_second":0.0,"outcomes_per_second":2.0,"#
        + #""seconds_left":40,"ended_at":7,"reason":"too many"}"#)
    // The process that has measured that is gone.
    let later = campaign.standing(now: 1_000_000_060_001, isPaused: nil)
    #expect(later["seconds_left"] == nil && later["outcomes_per_second"] == .double(0))
  }

  private static let extremes = [
    "-1", "\(Int64.min)", "\(Int64.max)", "\(Int64.max / 2)", "\(CampaignProgress.most + 1)",
    "9223372036854775808", "18446744073709551616", "1e300", "-1e300", "0.5", "true", "\"1\"", "[]",
  ]

  /// Each number of what the scheduler adds to a campaign's record: whoever may write the topic may have written it.
  @Test(arguments: [
    ("outcomes", #""outcomes":{"delivered":1,"rejected":N}"#),
    ("progress", #""progress":{"revision":N,"state":"running","addressed":1}"#),
    ("progress", #""progress":{"revision":1,"state":"running","addressed":N}"#),
    ("progress", #""progress":{"revision":1,"state":"running","addressed":1,"total":N}"#),
  ])
  func `a count that no campaign can have is refused by its name`(
    _ record: String, _ members: String
  ) throws {
    func read(_ number: String) throws -> CampaignRecord {
      let text =
        #"{"campaign":"sale","at":1000000000000,"request":{"app":"a.b","payload":{}},"audience":{},"#
      let json = "M1\n" + text + members.replacing("N", with: number) + "}"
      return try Array(json.utf8).withUnsafeBytes { try CampaignRecord($0, parser: JSONParser()) }
    }
    _ = try read("\(CampaignProgress.most)")
    for number in Self.extremes {
      let error = #expect(throws: RecordError.self, "\(number)") { try read(number) }
      #expect(error?.record == record && error?.field != nil)
    }
  }

  @Test func `as many of the largest counts as a record has room for add up`() throws {
    let outcomes = (0..<20_000).map { "\"x\($0)\":\(CampaignProgress.most)" }.joined(separator: ",")
    let json =
      #"M1"# + "\n"
      + #"{"campaign":"sale","at":1000000000000,"request":{"app":"a.b","payload":{}},"audience":{},"#
      + #""outcomes":{\#(outcomes)},"rates":{"at":1000000000000,"addressed":1,"outcomes":0.1},"#
      + #""progress":{"revision":1,"state":"running","addressed":1,"total":3}}"#
    let campaign = try Array(json.utf8).withUnsafeBytes {
      try CampaignRecord($0, parser: JSONParser())
    }
    // None of these names is an outcome: they are counted together.
    #expect(campaign.ended == CampaignCounts.most)
    _ = campaign.standing(now: 1_000_000_000_000, isPaused: true)
  }

  @Test
  func `the requests of a campaign have its id, group and name, and its lane if it names one`()
    throws
  {
    let campaign = try Self.read(Self.json())
    let text = String(decoding: campaign.request(tokens: Array(#""ab","cd""#.utf8)), as: UTF8.self)
    #expect(
      text
        == #"{"id":"campaign:sale","group":"sale","campaign":"sale","app":"a.b","payload":{"aps":{"alert":"x"}},"tokens":["ab","cd"]}"#
    )
    let urgent = try Self.read(
      Self.json(request: #"{"app":"a.b","lane":"transactional","payload":{}}"#))
    #expect(
      String(decoding: urgent.request(tokens: []), as: UTF8.self).contains(
        #""lane":"transactional""#))
    // Ingest chooses the lane that matters least of those that there are, and takes a campaign's name from the scheduler alone.
    let lanes = try Lanes(
      ["codes", "news", "night"].map { Lanes.Rule($0, weight: 1, maxAge: 900_000) })
    let reader = RequestReader(lanes: lanes)
    let request = campaign.request(tokens: Array("\"\(String(repeating: "ab", count: 32))\"".utf8))
    let refused = #expect(throws: RequestError.self) {
      try request.withUnsafeBytes { _ = try reader.read($0) }
    }
    #expect(refused == RequestError(.campaign, .notOfScheduler))
    reader.takesCampaigns = true
    try request.withUnsafeBytes { bytes in
      let read = try reader.read(bytes)
      #expect(read.lane == lanes.last && lanes.name(read.lane) == "night")
      #expect(read[.campaign].elementsEqual("sale".utf8))
    }
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
    // Every version would be a later one.
    Self.json(audience: #"{"app_version":"latest"}"#), Self.json(audience: #"{"app_version":""}"#),
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

  @Test
  func `a record with another name than its key, or with a bad request, cannot be read`() throws {
    func revision(_ campaign: CampaignRecord, _ key: String) throws -> Int64 {
      try campaign.value.withUnsafeBytes {
        try CampaignRecord.revision($0, key: key, AudienceTopics(TopicNames()))
      }
    }
    #expect(try revision(Self.read(Self.json()), "campaign:sale:a.b:production") == 0)
    for key in [
      "campaign:sales:a.b:production", "campaign:sale:a.c:production", "campaign:sale:a.b:sandbox",
    ] {
      #expect(throws: RecordError.self) { try revision(Self.read(Self.json()), key) }
    }
    let bad = try Self.read(
      Self.json(request: #"{"app":"a.b","payload":{"aps":{}},"priority":11}"#))
    #expect(throws: RecordError.self) { try revision(bad, "campaign:sale:a.b:production") }
  }

  @Test func `outcomes are a closed set, and cannot overflow`() throws {
    func read(_ outcomes: String) throws -> CampaignRecord {
      try Self.read(
        Self.json(
          more: #","at":1000000000000,"progress":{"revision":1,"state":"done","addressed":5},"#
            + #""outcomes":{\#(outcomes)}"#), at: nil)
    }
    let most = Int(CampaignProgress.most)
    let campaign = try read(#""delivered":\#(most),"rejected":\#(most),"x":3,"y":0,"z":4"#)
    #expect(campaign.outcomes[.delivered] == most)
    #expect(campaign.outcomes.named.map(\.name) == ["delivered", "other", "rejected"])
    #expect(campaign.ended == 2 * most + 7 && campaign.rejectedPercent == 50)
    for count in ["\(most + 1)", "\(Int64.max)", "-5", #""1""#] {
      let error = #expect(throws: RecordError.self, "\(count)") { _ = try read(#""x":\#(count)"#) }
      #expect(error?.record == "outcomes" && error?.field == "x")
    }
    _ = campaign.standing(now: 0, isPaused: nil)
    #expect(campaign.unsent == 0)
    // However many kinds somebody invents, the record does not grow.
    var outcomes = CampaignCounts()
    for number in 0..<10_000 { outcomes.add("outcome\(number)") }
    #expect(outcomes.named.map(\.count) == [10_000] && outcomes.named[0].name == "other")
  }

  @Test func `what its pace means for its pushes' expiration is said`() throws {
    func note(_ more: String, devices: Int = 297, perSecond: Double = 2) throws -> String? {
      try Self.read(Self.json(request: #"{"app":"a.b","payload":{}\#(more)}"#))
        .expiryNote(devices: devices, perMillisecond: perSecond / 1_000)
    }
    #expect(try note("") == nil && note(#","expires_in":149"#) == nil)
    #expect(try note(#","expires_in":60"#)?.contains("up to 30 s before its turn") == true)
    #expect(try note(#","expires_in":20"#)?.contains("some expire before their turn") == true)
    #expect(try note(#","expiration":1000000100"#)?.hasSuffix("end as expired") == true)
    #expect(try note(#","expiration":1000000200"#) == nil)
    #expect(try note(#","expires_in":60"#, devices: 36_000)?.contains("take 5 h 0 min") == true)
  }
}
