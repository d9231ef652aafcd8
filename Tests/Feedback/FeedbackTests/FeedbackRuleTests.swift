// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Store
import TestSupport
import Testing
import Waiting

@testable import Feedback

@Suite struct FeedbackRuleTests {
  private typealias Fixture = FeedbackFixture

  private let folder = TemporaryFolder()
  private let names = TopicNames()
  private let device = FeedbackFixture.device(1)

  private func job(_ record: FeedbackRecord) -> Job {
    Job(
      partition: TopicPartition(topic: names.feedback, partition: 0), offset: 0,
      content: .feedback(record))
  }

  private func invalidator(_ name: String, skew: Int64 = 0, limit: Int = 100) throws
    -> TokenInvalidator
  {
    let store = try TokenStore(folder.file(name), now: 1)
    return TokenInvalidator(store, names, clockSkew: skew, badTokenLimit: limit)
  }

  @Test func `the reason of a dead letter says which topic its record came from`() {
    let reader = JobReader(names)
    #expect(reader.reason(of: names.feedback) == .invalidFeedback)
    #expect(reader.reason(of: names.devices) == .invalidDevice)
    #expect(reader.reason(of: names.receipts) == .invalidReceipts)
  }

  private func register(_ invalidator: TokenInvalidator, _ device: DeviceKey, at time: Int64) throws
  {
    let record = DeviceRecord(device: device, event: .registered(at: time))
    try record.key.withUnsafeBytes { key in
      try record.value.withUnsafeBytes { value in try invalidator.apply(names.devices, key, value) }
    }
  }

  /// Publishes, and reads back what was published.
  private func judge(_ invalidator: TokenInvalidator, _ records: [FeedbackRecord]) throws
    -> TokenInvalidator.Outcome
  {
    var outcome = try invalidator.judge(records.map(job))
    _ = try invalidator.refute(after: nil, limit: 100, &outcome, isOwned: { _ in true })
    for publication in outcome.publications {
      try publication.device.bytes.withUnsafeBytes { key in
        try (publication.record?.value ?? []).withUnsafeBytes { value in
          let value =
            publication.record == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : value
          try invalidator.apply(names.invalidTokens, key, value)
        }
      }
    }
    return outcome
  }

  /// Answers and registrations in any order end with the same token invalid or valid, and judging them again
  /// publishes nothing.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `answers judged again publish nothing, with any clock skew and missing times`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let skew = Int64(random.next() % 2) * 40
    var answers: [FeedbackRecord] = []
    var events: [() -> (FeedbackRecord?, Int64)] = []
    for _ in 0..<4 {
      let time = Int64(random.next() % 60)
      let timestamp: Int64? = random.next() % 3 == 0 ? nil : time
      let answer = Fixture.feedback(device, timestamp: timestamp, sentAt: time + 10)
      answers.append(answer)
      events.append { (answer, 0) }
      let registered = Int64(random.next() % 120)
      events.append { (nil, registered) }
    }
    var ends: [Bool] = []
    for order in 0..<3 {
      let invalidator = try invalidator("\(seed)-\(order).db", skew: skew)
      for event in events.shuffled(using: &random) {
        let (answer, registered) = event()
        if let answer {
          _ = try judge(invalidator, [answer])
        } else {
          try register(invalidator, device, at: registered)
        }
      }
      _ = try judge(invalidator, [])
      let once = try invalidator.store.device(device)
      #expect(try judge(invalidator, answers).publications.isEmpty, "skew \(skew), order \(order)")
      #expect(try invalidator.store.device(device) == once)
      ends.append(once.isInvalid)
    }
    #expect(Set(ends).count == 1, "invalid in every order or in none")
  }

  @Test func `rows that another process has read anew are judged by`() throws {
    let invalidator = try invalidator("tokens.db")
    let other = try TokenStore(folder.file("tokens.db"), now: 2)
    try other.startOver(at: 3)
    var state = DeviceState()
    state.apply(.registered(at: 5_000))
    try other.put(device, state)
    let answer = Fixture.feedback(device, timestamp: 1_000, sentAt: 2_000)
    #expect(try invalidator.judge([job(answer)]).publications.isEmpty)
  }

  @Test func `old rows go also where the walk had been when another process began anew`() throws {
    let store = try TokenStore(folder.file("tokens.db"), now: 1)
    let other = try TokenStore(folder.file("tokens.db"), now: 2)
    let registered = DeviceState(presence: .registered(at: 5))
    for number in 1...4 { try store.put(Fixture.device(number), registered) }
    try other.startOver(at: 3)
    try other.put(Fixture.device(1), registered)
    var walk = OldRowsWalk()
    let hasMore = try walk.removePage(of: store, limit: 2)
    #expect(hasMore)
    try other.startOver(at: 4)
    try other.put(Fixture.device(4), registered)
    while try walk.removePage(of: store, limit: 2) {}
    let kept = try (1...4).filter { try store.device(Fixture.device($0)) == registered }
    #expect(kept == [4])
    #expect(try !store.hasOldRows())
  }

  @Test func `a registration at the very moment of a push without a time keeps the token`() throws {
    for isFirst in [true, false] {
      let invalidator = try invalidator("moment-\(isFirst).db")
      let answer = Fixture.feedback(device, timestamp: nil, sentAt: 50)
      if isFirst { try register(invalidator, device, at: 50) }
      _ = try judge(invalidator, [answer])
      if !isFirst { try register(invalidator, device, at: 50) }
      #expect(try invalidator.store.device(device).isInvalid == false)
    }
  }

  // MARK: Tokens that are called bad

  private static let day: Int64 = 24 * 3_600_000

  private func bad(_ number: Int, at time: Int64, reason: String = "BadDeviceToken")
    -> FeedbackRecord
  {
    Fixture.feedback(
      Fixture.device(number), status: 400, reason: reason, timestamp: nil, sentAt: time)
  }

  /// What is confirmed once all answers until `now` are known.
  private func confirmed(_ invalidator: TokenInvalidator, now: Int64) throws -> [DeviceKey] {
    var outcome = TokenInvalidator.Outcome()
    #expect(
      try invalidator.confirm(after: nil, limit: 100, now: now, &outcome, isOwned: { _ in true })
        == nil)
    return outcome.publications.map(\.device)
  }

  @Test func `a token called bad on two days is invalid, unless it was registered between`() throws
  {
    let invalidator = try invalidator("two-days.db")
    _ = try judge(invalidator, [bad(1, at: 0), bad(2, at: 0), bad(3, at: 0), bad(4, at: 0)])
    _ = try judge(invalidator, [bad(1, at: Self.day / 2)])
    #expect(try confirmed(invalidator, now: 10 * Self.day).isEmpty, "twice on one day")
    try register(invalidator, Fixture.device(2), at: 500)
    _ = try judge(
      invalidator,
      [
        bad(1, at: Self.day), bad(2, at: Self.day),
        bad(3, at: Self.day, reason: "DeviceTokenNotForTopic"),
      ])
    #expect(try confirmed(invalidator, now: Self.day + 1_000).isEmpty, "a wave may follow")
    #expect(try confirmed(invalidator, now: 2 * Self.day) == [Fixture.device(1)])
  }

  @Test
  func `a wave of bad tokens raises one alarm with its likely cause and kills nothing`() throws {
    let invalidator = try invalidator("wave.db", limit: 10)
    for number in 1...5 { try register(invalidator, Fixture.device(number, .sandbox), at: 1) }
    _ = try judge(invalidator, [bad(1, at: 0), bad(2, at: 0)])
    var alarms: [BadTokenAlarm] = []
    // The same configuration for three days.
    for hour in 24..<96 {
      let records = (1...40).map { bad($0, at: Int64(hour) * 3_600_000 + Int64($0)) }
      alarms += try judge(invalidator, records).alarms
      #expect(try confirmed(invalidator, now: Int64(hour + 1) * 3_600_000).isEmpty)
    }
    #expect(alarms.count == 1)
    let text = "\(try #require(alarms.first).fields)"
    #expect(text.contains("sandbox tokens sent to production"))
    #expect(text.contains("5 of them are registered for sandbox"))
    // What is bad on two days in normal times, too, is invalid; the wave's answers are not the first of them.
    _ = try judge(invalidator, [bad(3, at: 10 * Self.day)])
    #expect(try confirmed(invalidator, now: 11 * Self.day).isEmpty)
    _ = try judge(invalidator, [bad(3, at: 12 * Self.day)])
    #expect(try confirmed(invalidator, now: 13 * Self.day) == [Fixture.device(3)])
  }

  @Test func `a wave of one app is none of another app or environment`() throws {
    let invalidator = try invalidator("apart.db", limit: 10)
    #expect(try judge(invalidator, (1...9).map { bad($0, at: 0) }).alarms.isEmpty)
    let sandbox = (1...9).map {
      Fixture.feedback(
        Fixture.device($0, .sandbox), status: 400, reason: "BadDeviceToken", timestamp: nil,
        sentAt: 0)
    }
    #expect(try judge(invalidator, sandbox).alarms.isEmpty)
    let alarms = try judge(
      invalidator, (20...30).map { bad($0, at: 5, reason: "DeviceTokenNotForTopic") }
    )
    .alarms
    #expect(alarms.map(\.origin.environment) == [.production])
    let fields = "\(try #require(alarms.first).fields)"
    #expect(fields.contains("another app"))
  }

  @Test func `apps that Unicode takes for one have waves of their own`() throws {
    let invalidator = try invalidator("unicode.db", limit: 10)
    func answer(_ number: Int, _ app: String) -> FeedbackRecord {
      let device = DeviceKey(
        token: Fixture.device(number).token, app: app, environment: .production)
      return Fixture.feedback(
        device, status: 400, reason: "BadDeviceToken", timestamp: nil, sentAt: 5)
    }
    let (one, other) = ("caf\u{E9}", "cafe\u{301}")
    let answers = [answer(1, one)] + (2...12).map { answer($0, other) }
    let alarms = try judge(invalidator, answers).alarms
    #expect(alarms.map { $0.origin.app.exact } == [other.exact])
  }

  /// Of a backlog the partitions are read at different speeds.
  @Test func `bad tokens of later days make no wave of an earlier hour`() throws {
    let invalidator = try invalidator("backlog.db", limit: 10)
    for number in 1...20 {
      let time = 5 * Self.day + Int64(number) * 3_600_000
      #expect(try judge(invalidator, [bad(number, at: time)]).alarms.isEmpty)
    }
    #expect(try judge(invalidator, [bad(30, at: Self.day)]).alarms.isEmpty)
    let later = (40..<46).map { bad($0, at: 3 * Self.day + 1_000) }
    #expect(try judge(invalidator, later).alarms.isEmpty)
    let earlier = (50..<56).map { bad($0, at: 3 * Self.day) }
    #expect(try judge(invalidator, earlier).alarms.count == 1)
  }

  // MARK: Tokens that are called invalid

  private func invalid(_ number: Int, at time: Int64) -> FeedbackRecord {
    Fixture.feedback(Fixture.device(number), timestamp: time, sentAt: time)
  }

  /// Publishes what has to be taken back, and reads it back.
  private func withdraw(_ invalidator: TokenInvalidator, now: Int64) throws -> Int {
    var outcome = TokenInvalidator.Outcome()
    try invalidator.withdraw(now: now, &outcome, isOwned: { _ in true })
    for publication in outcome.publications {
      #expect(publication.record == nil)
      try publication.device.bytes.withUnsafeBytes { key in
        try invalidator.apply(
          names.invalidTokens, key, UnsafeRawBufferPointer(start: nil, count: 0))
      }
    }
    return outcome.publications.count
  }

  private func isInvalid(_ invalidator: TokenInvalidator, _ number: Int) throws -> Bool {
    try invalidator.store.device(Fixture.device(number)).isInvalid
  }

  /// 300 valid tokens, and a 410 for each: by a proxy, a gateway gone wrong, or whoever writes to the topic.
  @Test(arguments: [300, 40, 7])
  func `a wave of 410s raises one alarm and leaves no token invalid`(batch: Int) throws {
    let invalidator = try invalidator("410-\(batch).db")
    for number in 1...300 { try register(invalidator, Fixture.device(number), at: 1) }
    var alarms: [BadTokenAlarm] = []
    var numbers = Array(1...300)[...]
    while !numbers.isEmpty {
      let records = numbers.prefix(batch).map { invalid($0, at: 5 * Self.day + Int64($0)) }
      numbers = numbers.dropFirst(batch)
      alarms += try judge(invalidator, records).alarms
    }
    #expect(alarms.count == 1)
    #expect("\(try #require(alarms.first).fields)".contains("campaign"))
    // What was published before the wave was one.
    let count = try withdraw(invalidator, now: 5 * Self.day + 400)
    #expect(count == (batch == 300 ? 0 : 100 / batch * batch))
    #expect(try (1...300).count { try isInvalid(invalidator, $0) } == 0)
    #expect(try withdraw(invalidator, now: 5 * Self.day + 400) == 0)
    // Nothing is lost: the next such answer about a token decides, on a quieter day.
    _ = try judge(invalidator, [invalid(7, at: 7 * Self.day)])
    #expect(try isInvalid(invalidator, 7))
  }

  // MARK: Times

  /// It would be older than every answer of APNs, and the token would stay on the topic although it is erased.
  @Test(arguments: [-1, 0, 1_795_000_000] as [Int64])
  func `a tombstone whose timestamp is none, or in seconds, forgets what APNs has said`(
    timestamp: Int64
  ) throws {
    let invalidator = try invalidator("tokens.db")
    _ = try judge(invalidator, [invalid(1, at: WallClock.milliseconds() - 60_000)])
    #expect(try isInvalid(invalidator, 1))
    let tombstone = Job(
      partition: TopicPartition(topic: names.devices, partition: 0), offset: 0,
      writtenAt: timestamp, content: .forgotten(device))
    let said = try invalidator.judge([tombstone]).publications
    #expect(said.map(\.record) == [nil, nil])
    #expect(said.last?.release?.reason == .removed)
  }

  @Test func `no time of an answer lies after its reception, nor is it older than an hour`() throws
  {
    let reader = JobReader(names)
    let now: Int64 = 1_795_000_000_000
    func read(_ record: FeedbackRecord, timestamp: Int64) throws -> FeedbackRecord {
      let content = record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes {
          reader.content(names.feedback, key: key, value: $0, timestamp: timestamp, now: now)
        }
      }
      guard case .feedback(let read) = content else { throw KafkaFixtureTimeout() }
      return read
    }
    let far = OutsideTime.last
    var forged = Fixture.feedback(device, timestamp: far, sentAt: far)
    forged.at = far
    for timestamp in [now - 7_200_000, now, far, -1] {
      let received = timestamp > now || timestamp < 0 ? now : timestamp
      let read = try read(forged, timestamp: timestamp)
      for time in [read.timestamp, read.sentAt, read.at] { #expect(time == received) }
    }
    forged.at = 5
    #expect(try read(forged, timestamp: now).at == now - 3_600_000)
    // Anybody can say that.
    forged.isImported = true
    #expect(try read(forged, timestamp: now).at == now - 3_600_000)
  }

  @Test func `a mark of the far future is refuted by the next registration`() throws {
    let invalidator = try invalidator("far.db")
    let far = OutsideTime.last
    let record = InvalidTokenRecord(
      device: device, invalidSince: far - 1, reason: "Unregistered", at: far, aliveFrom: far)
    try record.key.withUnsafeBytes { key in
      try record.value.withUnsafeBytes { try invalidator.apply(names.invalidTokens, key, $0) }
    }
    #expect(try invalidator.store.device(device).isInvalid)
    let later = WallClock.milliseconds() + OutsideTime.skew
    try register(invalidator, device, at: later)
    #expect(try !invalidator.store.device(device).isInvalid)
  }

  /// PostgreSQL refuses them for ever, and the record would end the process at each start.
  @Test(arguments: [String(repeating: "a", count: 3_000), "a\u{0}b"])
  func `an app that no index can have is refused, and changes no row`(app: String) throws {
    let reader = JobReader(names)
    let invalidator = try invalidator("tokens.db")
    let long = DeviceKey(token: device.token, app: app, environment: .production)
    func content(_ topic: String, _ value: [UInt8]?) -> Job.Content {
      long.bytes.withUnsafeBytes { key in
        (value ?? []).withUnsafeBytes {
          reader.content(
            topic, key: key,
            value: value == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : $0,
            timestamp: -1, now: 1_795_000_000_000)
        }
      }
    }
    let registration = DeviceRecord(device: long, event: .registered(at: 1_700_000_000_000))
    for (topic, value) in [
      (names.devices, registration.value), (names.feedback, Fixture.feedback(long).value),
    ] {
      guard case .deadLetter(let letter) = content(topic, value) else {
        Issue.record("\(topic): no dead letter")
        continue
      }
      #expect(letter.detail.contains("app"))
    }
    if case .forgotten(let known?) = content(names.devices, nil) {
      Issue.record("\(known.app) is forgotten")
    }
    let mark = InvalidTokenRecord(device: long, invalidSince: 5, reason: "Unregistered", at: 6)
    try long.bytes.withUnsafeBytes { key in
      try mark.value.withUnsafeBytes { try invalidator.apply(names.invalidTokens, key, $0) }
    }
    #expect(try invalidator.store.device(long) == DeviceState())
  }

  /// It erases nothing, because no device has that key.
  @Test func `a tombstone for a token in upper case becomes a dead letter`() {
    let reader = JobReader(names)
    func content(_ key: String) -> Job.Content {
      Array(key.utf8).withUnsafeBytes {
        reader.content(
          names.devices, key: $0, value: UnsafeRawBufferPointer(start: nil, count: 0),
          timestamp: -1, now: 1_795_000_000_000)
      }
    }
    guard case .deadLetter(let letter) = content("00FF:com.example.app:production") else {
      Issue.record("no dead letter")
      return
    }
    #expect(letter.reason == .invalidDevice && letter.value == nil)
    #expect(letter.detail.contains("lower case"))
    // What else is deleted from the topic may have any key.
    for key in ["", "no key", "no token:com.example.app:production"] {
      guard case .forgotten = content(key) else {
        Issue.record("\(key)")
        continue
      }
    }
    guard case .forgotten(let device?) = content("00ff:com.example.app:sandbox") else {
      Issue.record("not erased")
      return
    }
    #expect(device.token == "00ff")
  }

  /// A batch that is packed may have it, and a record that no topic takes would end the process at each start.
  @Test func `of a reason of megabytes the mark has the beginning`() throws {
    let invalidator = try invalidator("tokens.db")
    let answer = Fixture.feedback(device, reason: String(repeating: "é", count: 1 << 20))
    let marks = try judge(invalidator, [answer]).publications.map(\.record)
    #expect(marks.map { $0?.reason } == [String(repeating: "é", count: 32)])
    #expect(try invalidator.store.device(device).isInvalid)
  }

  @Test func `a registration in seconds or far in the future is refused with what is expected`() {
    let reader = JobReader(names)
    func detail(_ time: Int64, timestamp: Int64 = 1_795_000_000_000) -> String? {
      let record = DeviceRecord(device: device, event: .registered(at: time))
      let content = record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes {
          reader.content(
            names.devices, key: key, value: $0, timestamp: timestamp, now: 1_795_000_000_000)
        }
      }
      if case .deadLetter(let letter) = content { return letter.detail }
      return nil
    }
    #expect(detail(1_795_000_000)?.contains("is in seconds") == true)
    #expect(detail(1_795_000_000)?.contains("milliseconds since 1970 are expected") == true)
    #expect(detail(1_795_000_000_000_000)?.contains("is not a time in milliseconds") == true)
    #expect(detail(1_795_000_000_000 + 2 * Self.day)?.contains("more than a day after") == true)
    #expect(detail(1_795_000_000_000 + Self.day / 2) == nil)
    #expect(detail(1_700_000_000_000) == nil)
    #expect(detail(1_900_000_000_000, timestamp: -1)?.contains("more than a day after") == true)
    #expect(detail(1_900_000_000_000, timestamp: .max)?.contains("more than a day") == true)
  }

  @Test func `impossible times end as dead letters and do not stop the rest`() throws {
    let fixture = try Fixture()
    let extremes: [Int64] = [.min, -1, 253_402_300_800_000, .max]
    try fixture.send(
      extremes.map { Fixture.feedback(device, timestamp: nil, sentAt: $0 == .max ? .max - 1 : $0) })
    try fixture.send(extremes.map { Fixture.feedback(device, timestamp: $0) })
    try fixture.send(extremes.map { DeviceRecord(device: device, event: .registered(at: $0)) })
    try fixture.send([Fixture.feedback(Fixture.device(2))])
    let service = try fixture.start(flags: ["--clock-skew", "1s"])
    defer { service.stop() }
    #expect(fixture.invalid(atLeast: 1).map(\.device.token) == [Fixture.device(2).token])
    let letters = try fixture.kafka.read(fixture.names.deadLetters, count: 12)
    #expect(letters.count == 12)
    let details = letters.flatMap(\.headers).filter { $0.name == DeadLetterHeader.detail }.map {
      String(decoding: $0.value, as: UTF8.self)
    }
    #expect(details.filter { $0.contains("sent_at: is not a time") }.count == 4)
    #expect(details.filter { $0.contains("timestamp: is not a time") }.count == 4)
    #expect(details.filter { $0.contains("registered_at: is not a time") }.count == 4)
    #expect(service.failure == nil)
  }
}

extension TokenInvalidator {
  /// Applies one record.
  func apply(
    _ topic: String, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(StoreError) {
    guard let device = DeviceKey(key: key) else { return }
    var rows = try store.rows(of: [device])
    _ = follow(
      topic, at: rows.asked[0], key: key, value: value, timestamp: -1,
      now: WallClock.milliseconds(), &rows)
    try store.write(rows)
  }
}
