// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

private let first = "11111111-2222-4333-8444-555555555555"
private let second = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
private let token = String(repeating: "ab", count: 32)
private let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

@Suite struct TraceStoryTests {
  private func hop(
    _ kind: TraceHop.Kind, _ at: Int64, _ apnsID: String? = nil, request: ExactText? = nil,
    outcome: String? = nil
  ) -> TraceHop {
    TraceHop(
      kind: kind, at: at, place: "t/0/\(at)", detail: "", apnsID: apnsID, requestID: request,
      outcome: outcome)
  }

  @Test func `each notification begins with its request, in the order of time`() {
    let stories = TraceStory.stories(of: [
      hop(.outcome, 90, second, request: "r", outcome: "delivered"),
      hop(.queued, 20, first, request: "r"),
      hop(.outcome, 50, first, request: "r", outcome: "rejected"),
      hop(.queued, 21, second, request: "r"),
      hop(.requested, 10, request: "r"),
    ])
    #expect(stories.map(\.apnsID) == [first, second])
    #expect(stories.map { $0.hops.map(\.at) } == [[10, 20, 50], [10, 21, 90]])
    #expect(stories.map(\.outcome) == ["rejected", "delivered"])
    #expect(stories[0].gap(before: 0) == nil)
    #expect(stories[0].gap(before: 2) == 30)
  }

  @Test func `a request that was made again stands where it was made`() {
    let stories = TraceStory.stories(of: [
      hop(.requested, 12, request: "r"), hop(.queued, 11, first, request: "r"),
      hop(.outcome, 13, first, request: "r", outcome: "delivered"),
      hop(.requested, 20, request: "r"), hop(.queued, 21, first, request: "r"),
      hop(.outcome, 22, first, request: "r", outcome: "deduplicated"),
    ])
    // The first one's clock is ahead.
    #expect(stories.map { $0.hops.map(\.at) } == [[12, 11, 13, 20, 21, 22]])
  }

  @Test func `of many notifications the newest are shown, and all that is of none`() {
    // The device's registration, and a request that waits.
    let others = [hop(.registered, 50), hop(.requested, 99, request: "last")]
    let pushes = (0..<30 as Range<Int64>).flatMap { number -> [TraceHop] in
      let request = "r\(number)".exact
      return [
        hop(.requested, number, request: request),
        hop(.queued, number + 1, "\(100 + number)", request: request),
      ]
    }
    let stories = TraceStory.stories(of: others + pushes)
    #expect(stories.count == 31 && stories.dropFirst().allSatisfy { $0.hops.count == 2 })
    let newest = TraceStory.newest(2, of: stories)
    #expect(newest.map(\.apnsID) == [nil, "128", "129"] && newest[0].hops == others)
    #expect(TraceStory.newest(0, of: stories) == stories)
  }

  @Test func `another app's request of the same id is no part of it`() {
    func owned(_ hop: TraceHop, _ app: String) -> TraceHop {
      var hop = hop
      hop.owner = "\(app):production".exact
      return hop
    }
    let hops = [
      owned(hop(.requested, 10, request: "r"), "a.b"),
      owned(hop(.queued, 11, first, request: "r"), "a.b"),
      owned(hop(.outcome, 12, first, request: "r", outcome: "delivered"), "a.b"),
      hop(.deadLettered, 13, request: "r"), owned(hop(.requested, 90, request: "r"), "a.c"),
      owned(hop(.scheduled, 91, request: "r"), "a.c"),
      owned(hop(.queued, 95, second, request: "r"), "a.c"),
      owned(hop(.outcome, 99, second, request: "r", outcome: "rejected"), "a.c"),
    ]
    let stories = TraceStory.stories(of: hops)
    // Whose dead letter it is, it does not say.
    #expect(stories.map { $0.hops.map(\.at) } == [[10, 11, 12, 13], [13, 90, 91, 95, 99]])
    var asking = TraceSubject(.id(second.exact))
    asking.note(hops[6])
    #expect(asking.asks(requestID: "r", owner: hops[4].owner, tokens: []))
    #expect(asking.asks(requestID: "r", owner: nil, tokens: []))
    #expect(!asking.asks(requestID: "r", owner: hops[0].owner, tokens: []))
    // It is not anybody's because a record says nothing about it.
    asking.note(hops[3])
    #expect(!asking.asks(requestID: "r", owner: hops[0].owner, tokens: []))
    var unowned = TraceSubject(.id(second.exact))
    unowned.note(hops[3])
    #expect(unowned.asks(requestID: "r", owner: hops[0].owner, tokens: []))
    // While both wait.
    let waiting = TraceStory.stories(of: [hops[0], hops[4], hops[5]])
    #expect(waiting.map { $0.hops.map(\.at) } == [[10], [90, 91]])
    #expect(waiting.allSatisfy { $0.apnsID == nil })
    #expect(
      TraceStory.stories(of: [hops[0], hops[3], hops[4]]).map { $0.hops.map(\.at) }
        == [[10], [13], [90]])
    #expect(TraceStory.stories(of: [hops[3], hops[4]]).map { $0.hops.map(\.at) } == [[13, 90]])
  }

  /// All requests of a campaign have one id.
  @Test func `a request to other devices is no part of it`() {
    func asked(_ at: Int64, _ tokens: Set<String>?) -> TraceHop {
      var asked = hop(.requested, at, request: "campaign:c")
      asked.tokens = tokens
      return asked
    }
    func told(_ at: Int64, _ id: String, _ token: String) -> TraceHop {
      var told = hop(.outcome, at, id, request: "campaign:c", outcome: "delivered")
      told.token = token
      return told
    }
    let hops = [
      asked(10, ["aa"]), asked(20, ["bb"]), asked(30, []), asked(31, nil), told(41, first, "aa"),
      told(42, second, "bb"),
    ]
    let stories = TraceStory.stories(of: hops)
    #expect(stories.map { $0.hops.map(\.at) } == [[30], [10, 31, 41], [20, 31, 42]])
    var asking = TraceSubject(.id(second.exact))
    asking.note(hops[5])
    #expect(asking.asks(requestID: "campaign:c", owner: nil, tokens: ["aa", "bb"]))
    #expect(!asking.asks(requestID: "campaign:c", owner: nil, tokens: ["aa"]))
  }

  @Test func `hops of one millisecond keep the order of the pipeline`() {
    let stories = TraceStory.stories(of: [
      hop(.outcome, 5, first, outcome: "delivered"), hop(.queued, 5, first),
      hop(.requested, 5, request: "r"),
    ])
    #expect(stories.map(\.apnsID) == [nil, first])
    #expect(stories[1].hops.map(\.kind) == [.queued, .outcome])
  }

  @Test func `what ended before it was a notification is not said to become one`() {
    func title(_ hops: [TraceHop]) -> String {
      TraceText.lines(TraceStory.stories(of: hops)).first ?? ""
    }
    let asked = hop(.requested, 10, request: "r")
    #expect(title([asked]) == "not yet a notification")
    #expect(title([hop(.registered, 10), hop(.invalidated, 20)]) == "the device")
    #expect(title([hop(.registered, 5), asked]) == "not yet a notification")
    let nameless = [hop(.registered, 5), hop(.requested, 10), hop(.queued, 11, first)]
    #expect(title(nameless) == "requests without an id, which their notifications do not name")
    let letter = hop(.deadLettered, 20, request: "r")
    #expect(title([asked, letter]) == "no notification: a dead letter")
    let addressed = hop(.outcome, 20, request: "r", outcome: "addressed")
    #expect(title([asked, addressed]) == "no notification: addressed")
    let queued = hop(.queued, 30, first, request: "r")
    #expect(title([asked, queued]) == "\(first): no outcome yet")
    #expect(title([asked, addressed, queued]) == "\(first): no outcome yet")
    let delivered = hop(.outcome, 40, first, request: "r", outcome: "delivered")
    let end = title([asked, addressed, queued, delivered])
    #expect(end.hasPrefix("\(first): delivered after 30 ms"), "\(end)")
  }

  @Test func `a repeat that was not sent is not the outcome`() {
    let stories = TraceStory.stories(of: [
      hop(.outcome, 5, first, outcome: "deduplicated"),
      hop(.outcome, 9, first, outcome: "delivered"),
      hop(.outcome, 12, first, outcome: "deduplicated"),
    ])
    #expect(stories.map(\.outcome) == ["delivered"])
    #expect(TraceText.lines(stories)[0] == "\(first): delivered after 4 ms")
    func end(_ outcomes: [String]) -> String? {
      let hops = outcomes.enumerated().map { hop(.outcome, Int64($0) * 10, first, outcome: $1) }
      return TraceText.lines(TraceStory.stories(of: hops)).first
    }
    // It was sent again, with success and without.
    #expect(end(["rejected", "delivered"]) == "\(first): delivered after 10 ms")
    #expect(end(["dead_lettered", "expired", "deduplicated"]) == "\(first): expired after 10 ms")
    // Its receipt was not acknowledged before a crash.
    #expect(end(["delivered", "delivered", "expired"]) == "\(first): delivered after 0 s")
    let none = TraceStory.stories(of: [hop(.queued, 1, first)])
    #expect(TraceText.lines(none)[0] == "\(first): no outcome yet")
  }

  /// What the reader makes of a line of receipts.
  private func hops(of line: String, _ subject: TraceSubject) -> [TraceHop] {
    var hops: [TraceHop] = []
    Array(line.utf8).withUnsafeBytes { bytes in
      let record = ShownRecord(
        partition: 0, offset: 0, timestamp: 1, key: UnsafeRawBufferPointer(start: nil, count: 0),
        value: bytes)
      TraceReader().read(record, of: "receipts", .receipts, subject, to: &hops)
    }
    return hops
  }

  @Test func `an id is found however its caller has escaped it`() {
    let subject = TraceSubject(.id("order/ü"))
    for id in ["order/ü", #"order\/\u00fc"#, #"order/\u00FC"#] {
      let line =
        #"{"outcome":"delivered","apns_id":"\#(first)","id":"\#(id)","app":"com.example.app","#
        + #""environment":"production","token":"\#(token)","lane":"transactional","#
        + #""created":1795000000000,"at":1795000000045}"#
      #expect(hops(of: line, subject).first?.requestID?.text == "order/ü", "\(id)")
    }
    var asking = TraceSubject(.id(first.exact))
    asking.note(hop(.queued, 1, first, request: "order/ü"))
    let isAsked = Array(#"{"id":"order\/\u00fc"}"#.utf8).withUnsafeBytes {
      asking.isNamedOrAsked(in: $0)
    }
    #expect(isAsked)
  }

  @Test func `what is replayed may be a receipt`() {
    let line =
      #"{"outcome":"rejected","apns_id":"\#(first)","app":"a.b","environment":"production","#
      + #""token":"\#(token)","lane":"transactional","replay":"3/0","#
      + #""created":1795000000000,"at":1795000000045}"#
    let hops = self.hops(of: line, TraceSubject(.id(first.exact)))
    #expect(hops.map(\.detail) == ["rejected, replay of dead letter or receipt 3/0"])
  }

  @Test func `a device is found by the beginning of its token alone, in either case`() {
    func kinds(_ content: TraceReader.Content, _ key: String, _ value: String = "{}")
      -> [TraceHop.Kind]
    {
      var hops: [TraceHop] = []
      Array(key.utf8).withUnsafeBytes { key in
        Array(value.utf8).withUnsafeBytes { value in
          let record = ShownRecord(partition: 0, offset: 0, timestamp: 1, key: key, value: value)
          TraceReader().read(record, of: "t", content, TraceSubject(.token("abcdef01")), to: &hops)
        }
      }
      return hops.map(\.kind)
    }
    #expect(kinds(.devices, "abcdef0123:a.b:production") == [.registered])
    #expect(kinds(.invalidTokens, "abcdef0123:a.b:production") == [.invalidated])
    for key in ["ffabcdef01:a.b:production", "ff01:abcdef01:production"] {
      #expect(kinds(.devices, key).isEmpty && kinds(.invalidTokens, key).isEmpty, "\(key)")
    }
    for token in ["abcdef0123", "ABCDEF0123"] {
      let request = #"{"id":"r","app":"a.b","token":"\#(token)","payload":{}}"#
      #expect(kinds(.requests, "", request) == [.requested], "\(token)")
      let waiting = "S1\t1900000000000\t1795000000000\t\t\n\(request)"
      #expect(kinds(.schedule, "a.b:production:r", waiting) == [.scheduled], "\(token)")
    }
  }

  /// As typed clients write what they leave out.
  @Test(arguments: [
    (#""token":"abab","channel":null,"user":null"#, "alert for a.b to 1 device"),
    (#""tokens":["ab","cd"],"channel":null,"type":null"#, "alert for a.b to 2 devices"),
    (#""users":["ann","bob"],"user":null,"tokens":null"#, "alert for a.b to 2 users"),
    (#""channel":"AAAA","tokens":null"#, "liveactivity for a.b to a channel"),
  ])
  func `members of a request that are null are left out`(_ members: String, _ detail: String) {
    var hops: [TraceHop] = []
    Array(#"{"id":"r","app":"a.b","payload":{},\#(members)}"#.utf8).withUnsafeBytes { bytes in
      let record = ShownRecord(
        partition: 0, offset: 0, timestamp: 1, key: UnsafeRawBufferPointer(start: nil, count: 0),
        value: bytes)
      TraceReader().read(record, of: "requests", .requests, TraceSubject(.id("r")), to: &hops)
    }
    #expect(hops.map(\.detail) == [detail])
  }

  @Test func `a bounded number of request ids is followed`() {
    var subject = TraceSubject(.token("abababab"))
    for index in 0..<40 { subject.note(hop(.queued, 1, first, request: "r\(index)")) }
    #expect(subject.requestIDs.count == TraceSubject.mostRequests)
    #expect(subject.leftOut)
  }
}

@Suite struct TraceTests {
  /// A pipeline's topics with the story of one request to two devices, and one of somebody else.
  private func pipeline() throws -> KafkaFixture {
    let names = TopicNames(prefix: "")
    let fixture = try KafkaFixture(topics: names.all.map { ($0.name, 2) })
    let producer = try KafkaProducer(fixture.configuration)
    func write(_ topic: String, _ key: String?, _ value: String?, _ headers: [KafkaHeader] = [])
      throws
    {
      try fixture.produce(
        producer, try producer.topic(named: fixture.name(topic)), key: key, value: value,
        headers: headers)
    }
    func envelope(_ id: String, _ request: String, _ tail: String = "") -> String {
      "M2\ttransactional\tproduction\tcom.example.app\tcom.example.app\talert\t10\t\t\(id)\t"
        + "1795000000000\t\(request)\(tail.isEmpty ? "\t\t\t" : tail)\n{\"aps\":{\"badge\":1}}"
    }
    func receipt(_ outcome: String, _ id: String, _ request: String, _ more: String = "") -> String
    {
      #"{"outcome":"\#(outcome)","apns_id":"\#(id)","id":"\#(request)","app":"com.example.app","#
        + #""environment":"production","token":"\#(token)","lane":"transactional"\#(more),"#
        + #""created":1795000000000,"at":1795000000045}"#
    }
    try write(
      names.requests, nil,
      #"{"id":"order \"1\"","app":"com.example.app","tokens":["\#(token)","cdcdcdcd"],"payload":{}}"#
    )
    try write(
      names.requests, nil, #"{"id":"other","app":"com.example.app","token":"ef","payload":{}}"#)
    let request = #"order \"1\""#
    try write(names.notifications(.first), token, envelope(first, request))
    try write(names.notifications(.first), "cdcdcdcd", envelope(second, request))
    try write(
      names.notifications(.first), "ef", envelope("99999999-2222-4333-8444-555555555555", "other"))
    try write(
      names.retries(.seconds5), token,
      envelope(first, request, "\t1\t1795000000020\tTooManyRequests"))
    let stranger = receipt("delivered", "99999999-2222-4333-8444-555555555555", "other")
    try write(
      names.receipts, nil,
      stranger + "\n"
        + receipt(
          "delivered", first, request, #","status":200,"attempts":2,"traceparent":"\#(trace)""#)
        + "\n")
    try write(
      names.receipts, nil,
      receipt("rejected", second, request, #","status":410,"reason":"Unregistered","attempts":1"#))
    try write(
      names.feedback, "cdcdcdcd:com.example.app:production",
      #"{"token":"cdcdcdcd","app":"com.example.app","environment":"production","status":410,"#
        + #""reason":"Unregistered","apns_id":"\#(second)","at":1795000000044}"#)
    try write(
      names.deadLetters, nil, "{}",
      [
        KafkaHeader(DeadLetterHeader.reason, "invalid_token"),
        KafkaHeader(DeadLetterHeader.detail, "tokens[2]: is empty"),
        KafkaHeader(DeadLetterHeader.stage, "ingest"),
        KafkaHeader(DeadLetterHeader.requestID, "order \"1\""),
      ])
    return fixture
  }

  /// What is on them would be missing without a word, such as an outcome.
  @Test func `topics that this user may not see are named`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1), ("receipts", 1)], embedded: true)
    let names = TopicNames(prefix: fixture.prefix)
    let context = try TraceCommand.context(["x"])
    let cluster = try KafkaCluster(fixture.configuration, context)
    defer { cluster.admin.close() }
    var search = TraceSearch(.id(first.exact), cluster, since: 0, progress: nil, context)
    try search.run(names)
    #expect(search.hidden.isEmpty)
    fixture.broker?.setTopic(names.receipts, fault: .topicNotAuthorized)
    try search.run(names)
    #expect(search.hidden == [names.receipts])
    fixture.broker?.setTopic(names.requests, fault: .topicNotAuthorized)
    let failure = #expect(throws: ServiceFailure.self) { try search.run(names) }
    let words = "this user may see no topic of Martlet: needs Read on "
    #expect(failure?.description.hasPrefix(words) == true)
  }

  private func stories(_ fixture: KafkaFixture, _ wanted: TraceSubject.Wanted) throws
    -> [TraceStory]
  {
    let context = try TraceCommand.context(["x"])
    let cluster = try KafkaCluster(fixture.configuration, context)
    defer { cluster.admin.close() }
    var search = TraceSearch(wanted, cluster, since: 0, progress: nil, context)
    try search.run(TopicNames(prefix: fixture.prefix))
    return TraceStory.stories(of: search.hops)
  }

  @Test
  func `a request id finds the request, its notifications, retries, answers and outcomes`() throws {
    let found = try stories(pipeline(), .id("order \"1\""))
    let byID = Dictionary(grouping: found, by: \.apnsID)
    #expect(Set(byID.keys) == [first, second])
    let delivered = try #require(byID[first]?.first)
    #expect(delivered.outcome == "delivered")
    #expect(
      Set(delivered.hops.map(\.kind)) == [.requested, .queued, .parked, .outcome, .deadLettered])
    #expect(
      delivered.hops.first { $0.kind == .parked }?.detail
        == "for 5s after 1 attempt: TooManyRequests")
    #expect(
      delivered.hops.first { $0.kind == .outcome }?.detail == "delivered, status 200, 2 attempts")
    #expect(delivered.traceParent == trace)
    #expect(TraceText.lines([delivered]).contains("  traceparent \(trace)"))
    let rejected = try #require(byID[second]?.first)
    #expect(rejected.traceParent == nil)
    #expect(rejected.hops.first { $0.kind == .answered }?.detail == "410 Unregistered")
    #expect(rejected.outcome == "rejected")
  }

  @Test
  func `a notification is found in the lanes of the cluster, whatever they are called`() throws {
    let lanes = try Lanes(
      ["codes", "news", "sales"].map { .init($0, weight: 1, maxAge: 86_400_000) })
    let names = TopicNames(prefix: "", lanes: lanes)
    let fixture = try KafkaFixture(topics: names.all.map { ($0.name, 1) })
    for (lane, id) in zip(lanes.all, [first, second, "99999999-2222-4333-8444-555555555555"]) {
      try fixture.produce(
        fixture.name(names.notifications(lane)), key: token,
        value:
          "M2\t\(lanes.name(lane))\tproduction\ta.b\ta.b\talert\t10\t\t\(id)\t1795000000000\tr\t\t\t\n{}"
      )
    }
    let found = try stories(fixture, .id("r"))
    #expect(found.count == 3 && found.allSatisfy { $0.hops.map(\.kind) == [.queued] })
    let short = TopicLookup.find("notifications.sales", in: TopicNames())
    #expect(short == "push.notifications.sales")
    #expect(TopicLookup.find("sales", in: TopicNames()) == nil)
  }

  @Test func `an apns-id finds one notification, and the request that it came from`() throws {
    let fixture = try pipeline()
    for app in ["com.example.app", "com.example.other"] {
      try fixture.produce(
        fixture.name("schedule"), key: "\(app):production:order \"1\"", value: nil)
    }
    try fixture.produce(
      fixture.name("requests"), key: nil,
      value: #"{"id":"order \"1\"","app":"com.example.app","tokens":["ef01"],"payload":{}}"#)
    let found = try stories(fixture, .id(second.uppercased().exact))
    #expect(found.map(\.apnsID) == [second])
    #expect(found[0].hops.count { $0.kind == .requested } == 1)
    #expect(found[0].hops.count { $0.kind == .scheduled } == 1)
    #expect(found[0].hops.contains { $0.kind == .requested })
    #expect(!found[0].hops.contains { $0.kind == .parked })
  }

  @Test func `a request that waits is said to be scheduled, until it leaves the schedule`() throws {
    let fixture = try pipeline()
    func schedule(_ id: String, _ value: String?) throws {
      try fixture.produce(
        fixture.name("schedule"), key: "com.example.app:production:\(id)", value: value)
    }
    let request = "S1\t1900000000000\t1795000000000\t\t\(trace)\n"
    let json = #"{"id":"later","app":"com.example.app","token":"\#(token)","payload":{}}"#
    try schedule("later", request + json)
    let found = try stories(fixture, .id("later"))
    #expect(found.map(\.apnsID) == [nil])
    #expect(found[0].hops.map(\.kind) == [.scheduled] && found[0].traceParent == trace)
    let lines = TraceText.lines(found)
    #expect(lines[0] == "not yet a notification: scheduled for 2030-03-17T17:46:40.000Z")
    #expect(TraceText.json(found[0])[0].contains(#""due":1900000000000"#))
    #expect(
      try stories(fixture, .token(token)).contains { $0.hops.contains { $0.kind == .scheduled } })
    try schedule(
      "later",
      String(decoding: ScheduleCancellation(at: 1_950_000_000_000, by: "ann").value, as: UTF8.self))
    let cancelled = try stories(fixture, .id("later"))
    #expect(cancelled[0].due == nil)
    #expect(TraceText.lines(cancelled)[0] == "no notification: cancelled")
    try schedule("later", nil)
    let details = try stories(fixture, .id("later"))[0].hops.map(\.detail)
    #expect(details.contains("cancelled by ann") && details.contains("left the schedule"))
  }

  @Test func `a device token finds what was sent to the device`() throws {
    let found = try stories(pipeline(), .token(String(token.prefix(8))))
    #expect(found.contains { $0.apnsID == first })
    // The text of the trace has no device token in it.
    for line in TraceText.lines(found) + found.flatMap(TraceText.json) {
      #expect(!line.contains(token))
    }
  }

  @Test func `a notification that is on no topic is found nowhere`() throws {
    #expect(try stories(pipeline(), .id("order")).isEmpty)
  }

  @Test(arguments: ["abc", "xyzxyzxyz", ""])
  func `a text that is no token is refused`(_ text: String) throws {
    let values = try TraceCommand.values(["--token", text])
    #expect(throws: SettingErrors.self) { try TraceCommand.settings(values) }
  }
}
