// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import Scheduler

/// Campaigns whose device tokens are on a topic.
@Suite struct CampaignTopicTests {
  private static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "ab" + String(repeating: "0", count: 62 - digits.count) + digits
  }

  private static func lines(_ numbers: Range<Int>) -> String {
    numbers.map(token).joined(separator: "\n")
  }

  private static func start(
    _ fixture: SchedulerFixture, _ name: String, _ topic: String, more: String = ""
  ) throws -> CampaignRecord {
    let json =
      #"{"campaign":"\#(name)","request":{"app":"a.b","payload":{"aps":{"alert":"Sale"}}},"#
      + #""audience":{"topic":"\#(topic)"}\#(more)}"#
    let campaign = try SchedulerFixture.campaign(json)
    try fixture.start(campaign)
    return campaign
  }

  private static func progress(_ database: String, _ name: String) -> CampaignProgress? {
    let values = (try? TokenStoreReader(database).campaigns().map(\.value)) ?? []
    return values.compactMap { CampaignRecord(stored: $0) }.first { $0.name == name }?.progress
  }

  private static func source(_ topic: String, _ name: String = "sale") -> TokenTopicReader.Source {
    .init(
      topic: topic,
      campaign: .init(
        campaign: CampaignKey(name: name, app: "a.b", environment: .production)!, run: 1,
        startedAt: 1_795_000_000_000))
  }

  private static func tokens(_ page: AudiencePage) throws -> [String] {
    let text = "[\(String(decoding: page.tokens, as: UTF8.self))]"
    return try JSONDocument(text).root.array?.compactMap(\.string) ?? []
  }

  /// All tokens behind a place, and the place of each page.
  private static func readAll(
    _ reader: TokenTopicReader, _ source: TokenTopicReader.Source, after place: String,
    limit: Int = 7
  ) throws -> (tokens: [String], places: [String]) {
    var (tokens, places) = ([String](), [place])
    while true {
      let page = try reader.page(source, after: places.last!, limit: limit)
      let some = try Self.tokens(page)
      #expect(some.count == page.count)
      tokens += some
      places.append(page.last)
      if page.count < limit { return (tokens, places) }
    }
  }

  @Test func `the lines of a topic are its tokens, and reading goes on from any page`() throws {
    let fixture = try SchedulerFixture()
    let topic = try fixture.kafka.createTopic("vips", partitions: 3)
    for first in stride(from: 0, to: 100, by: 20) {
      try fixture.produce(
        topic, key: first % 40 == 0 ? "sale" : nil, Self.lines(first..<first + 20))
    }
    let upper = " <\(Self.token(100).uppercased())>\r"
    try fixture.produce(topic, key: "sale", "\n\(upper)\n\nno token\n\(Self.token(101))\nab1\n")
    try fixture.produce(topic, key: "sale", nil)
    try fixture.produce(topic, key: "sales", Self.lines(900..<910))
    let mark = "\(CampaignRecord.startHeader)"
    for (time, number) in [("1795000000000", 102), ("1795000000001", 901)] {
      try fixture.produce(
        topic, key: "sale", Self.token(number), headers: [KafkaHeader(mark, time)])
    }
    let reader = TokenTopicReader(fixture.kafka.configuration) { false }
    let source = Self.source(topic)
    let count = try reader.count(source)
    #expect(count.tokens == 103 && count.others == 2)
    #expect(count.example.hasPrefix(topic) && count.example.contains(" line 4 has no hexadecimal"))
    // What is written after it was counted does not belong to it.
    try fixture.produce(topic, Self.lines(910..<920))
    let all = try Self.readAll(reader, source, after: count.start)
    #expect(Set(all.tokens) == Set((0..<103).map(Self.token)) && all.tokens.count == 103)
    // Another process goes on from a page that was not the last.
    var done = 0
    for place in all.places.dropLast(2) {
      let rest = try Self.readAll(
        TokenTopicReader(fixture.kafka.configuration) { false }, source, after: place)
      #expect(rest.tokens.count == 103 - done)
      #expect(Set(rest.tokens) == Set(all.tokens.dropFirst(done)))
      done += 7
    }
    let end = try reader.page(source, after: all.places.last!, limit: 7)
    #expect(end.count == 0 && end.last == all.places.last)
    reader.close()
  }

  @Test func `campaigns that take turns are read side by side`() throws {
    let fixture = try SchedulerFixture()
    let reader = TokenTopicReader(fixture.kafka.configuration) { false }
    var places: [(source: TokenTopicReader.Source, place: String, tokens: [String])] = []
    for number in 0..<6 {
      let topic = try fixture.kafka.createTopic("t\(number)", partitions: 1)
      try fixture.produce(topic, Self.lines(0..<20))
      let source = Self.source(topic, "c\(number)")
      places.append((source, try reader.count(source).start, []))
    }
    for _ in 0..<3 {
      for index in places.indices {
        let page = try reader.page(places[index].source, after: places[index].place, limit: 8)
        places[index].place = page.last
        places[index].tokens += try Self.tokens(page)
      }
    }
    for place in places { #expect(place.tokens == (0..<20).map(Self.token)) }
    reader.close()
  }

  @Test func `a campaign waits for its topic, and addresses each token of it once`() throws {
    let fixture = try SchedulerFixture()
    let ingest = try fixture.ingest()
    let database = fixture.folder.file("s.db")
    let scheduler = try fixture.scheduler(database)
    _ = try Self.start(fixture, "sale", fixture.kafka.name("audiences.vips"))
    #expect(
      eventually { Self.progress(database, "sale")?.state == .running })
    expectEventually {
      Self.progress(database, "sale")?.note?.contains("audiences.vips cannot be read: ") == true
    }
    #expect(Self.progress(database, "sale")?.total == nil)
    let topic = try fixture.kafka.createTopic("audiences.vips", partitions: 3)
    for first in stride(from: 0, to: 3_000, by: 300) {
      try fixture.produce(topic, Self.lines(first..<first + 300))
    }
    expectEventually { Self.progress(database, "sale")?.state == .done }
    #expect(Self.progress(database, "sale")?.note == nil)
    let later = try Self.start(fixture, "later", topic)
    #expect(
      eventually { Self.progress(database, "later")?.state == .done })
    let progress = try #require(Self.progress(database, later.name))
    #expect(progress.total == 3_000 && progress.addressed == 3_000)
    try expectEventually {
      try Set(fixture.readAll(fixture.names.notifications(.bulk)).compactMap(\.key)).count == 3_000
    }
    #expect(scheduler.stop() == nil && ingest.stop() == nil)
  }

  @Test func `tokens of a topic are addressed at the local time of the campaign's zone`() throws {
    let fixture = try SchedulerFixture()
    let database = fixture.folder.file("s.db")
    let scheduler = try fixture.scheduler(database)
    let topic = try fixture.kafka.createTopic("audiences.vips", partitions: 2)
    try fixture.produce(topic, Self.lines(0..<5))
    let soon = (WallClock.milliseconds() / 1_000 + 5) * 1_000
    let local = Timestamp.text(milliseconds: soon + 14 * 3_600_000).dropLast()
    _ = try Self.start(
      fixture, "sale", topic, more: #","send_at":"\#(local)","time_zone":"Pacific/Kiritimati""#)
    expectEventually { Self.progress(database, "sale")?.state == .done }
    let progress = try #require(Self.progress(database, "sale"))
    #expect(progress.wave == soon && progress.addressed == 5)
    #expect(scheduler.stop() == nil)
  }

  /// What a campaign may not read: a topic of the pipeline, another one, one that begins alike, and one that is not there.
  @Test(arguments: ["receipts", "notifications.vip", "retries.1h", "vips", "audiencesx", "none"])
  func `a campaign for a topic that is none of device tokens becomes a dead letter`(
    _ name: String
  ) throws {
    let fixture = try SchedulerFixture()
    if name == "vips" { _ = try fixture.kafka.createTopic(name, partitions: 1) }
    let database = fixture.folder.file("s.db")
    let scheduler = try fixture.scheduler(database)
    _ = try Self.start(fixture, "sale", fixture.kafka.name(name))
    expectEventually {
      (try? fixture.readAll(fixture.names.deadLetters).count) == 1
    }
    let letter = try #require(try fixture.readAll(fixture.names.deadLetters).first)
    let detail = letter.headers.map { String(decoding: $0.value, as: UTF8.self) }
    // Every refusal is the same, whatever there is of the topic.
    #expect(
      detail.contains {
        $0.hasSuffix(
          "is not a topic of device tokens: name \(fixture.names.audiences), one that begins with"
            + " \(fixture.names.audiences)., or one with a prefix of --audience-topics")
      }, "\(detail)")
    #expect(Self.progress(database, "sale") == nil && scheduler.stop() == nil)
  }

  @Test func `a prefix of the settings names further topics, and never one of the pipeline`() {
    let names = TopicNames()
    let topics = AudienceTopics(names, prefixes: ["crm.", "push."])
    for topic in ["push.audiences", "push.audiences.vip", "crm.", "crm.vip", "push.mine"] {
      #expect(topics.contains(topic), "\(topic)")
    }
    let own = names.all.map(\.name) + ["push.notifications.own-lane", "push.retries.1h"]
    for topic in own where topic != names.audiences { #expect(!topics.contains(topic), "\(topic)") }
    for topic in ["crm", "CRM.vip", "other", ""] { #expect(!topics.contains(topic), "\(topic)") }
    #expect(!AudienceTopics(names).contains("push.mine"))
    #expect(!AudienceTopics(TopicNames(prefix: "")).contains("receipts"))
  }

  @Test func `an app whose campaigns have large topics leaves others their turns`() throws {
    let fixture = try SchedulerFixture()
    let large = try fixture.kafka.createTopic("audiences.large", partitions: 1)
    let small = try fixture.kafka.createTopic("audiences.small", partitions: 1)
    let lines = Self.lines(0..<10_000)
    for _ in 0..<2 { try fixture.produce(large, lines) }
    try fixture.produce(small, Self.lines(0..<3))
    let wakeup = Wakeup()
    let worker = try AudienceWorker(
      fixture.folder.file("d.db"), AudienceTopics(fixture.names), fixture.kafka.configuration,
      wakeup: wakeup)
    defer { worker.close() }
    func audience(_ app: String, _ topic: String) -> Audience {
      Audience(app: app, environment: .production, type: "alert", tokenTopic: topic)
    }
    func key(_ name: String, _ app: String) -> CampaignKey {
      CampaignKey(name: name, app: app, environment: .production)!
    }
    for number in 0..<4 {
      worker.ask(
        .init(campaign: key("a\(number)", "a.a"), run: number, startedAt: 1),
        audience("a.a", large), .count)
    }
    worker.ask(
      .init(campaign: key("b", "b.b"), run: 10, startedAt: 1), audience("b.b", small), .count)
    var order: [(name: String, count: Int)] = []
    func drain() {
      for (asker, answer) in worker.drainAnswers() {
        if case .count(let count) = answer { order.append((asker.campaign.name, count.tokens)) }
      }
    }
    drain()
    let answeredBefore = order.count
    expectEventually {
      drain()
      return order.count == 5
    }
    // All of it was read in pieces, and in each app's own order.
    #expect(order.allSatisfy { $0.count == ($0.name == "b" ? 3 : 20_000) })
    #expect(order.filter { $0.name != "b" }.map(\.name) == (0..<4).map { "a\($0)" })
    let place = try #require(order.firstIndex { $0.name == "b" })
    #expect(place <= answeredBefore + 1, "\(order)")
  }
}

extension TokenTopicReader {
  /// Counts without others' turns.
  func count(_ source: Source) throws -> Count {
    var reading = try counting(source)
    while try !goOn(&reading, until: 0) {}
    return reading.count
  }

  /// Reads a page, so often interrupted as can be.
  func page(_ source: Source, after place: String, limit: Int) throws -> AudiencePage {
    var reading = try paging(source, after: place, limit: limit)
    while try !goOn(&reading, until: 0) {}
    return reading.page
  }
}
