// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

/// What becomes of waves of 410s: held, released, rejected, believed; with a database of either kind.
@Suite struct FeedbackWaveTests {
  private typealias Fixture = FeedbackFixture

  private static let day: Int64 = 86_400_000
  private static let hour: Int64 = 3_600_000
  /// The first day of the tests; times have the digits that they have today.
  private static let first: Int64 = 1_795_046_400_000

  private let folder = TemporaryFolder()
  private let names = TopicNames()

  private func invalidator(_ kind: DatabaseKind, limit: Int = 100) throws -> TokenInvalidator {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    return TokenInvalidator(store, names, clockSkew: 0, badTokenLimit: limit)
  }

  private func register(
    _ invalidator: TokenInvalidator, _ numbers: some Sequence<Int>, at time: Int64
  ) throws {
    var rows = try invalidator.store.rows(of: [])
    for number in numbers {
      let identity = Fixture.device(number)
      var state = try invalidator.store.device(identity)
      state.apply(.registered(at: time))
      rows[identity] = state
    }
    let changed = rows
    try invalidator.store.transaction { () throws(StoreError) in
      try invalidator.store.write(changed)
    }
  }

  private func invalid(_ numbers: some Sequence<Int>, at time: Int64) -> [FeedbackRecord] {
    numbers.map { Fixture.feedback(Fixture.device($0), timestamp: time - 5, sentAt: time) }
  }

  /// Judges, takes back and releases as the worker does, publishes, and reads back what was published.
  @discardableResult
  private func turn(
    _ invalidator: TokenInvalidator, _ records: [FeedbackRecord] = [], now: Int64
  ) throws -> TokenInvalidator.Outcome {
    let jobs = records.map {
      Job(
        partition: TopicPartition(topic: names.feedback, partition: 0), offset: 0,
        content: .feedback($0))
    }
    let outcome = try invalidator.store.transaction {
      () throws(StoreError) -> TokenInvalidator.Outcome in
      var outcome = try invalidator.judge(jobs)
      try invalidator.withdraw(now: now, &outcome, isOwned: { _ in true })
      outcome.believed = try invalidator.believe(now: now)
      try invalidator.release(now: now, &outcome, isOwned: { _ in true })
      return outcome
    }
    var rows = try invalidator.store.rows(of: outcome.publications.map(\.device))
    for publication in outcome.publications {
      rows[publication.device].apply(publication.record?.mark)
    }
    let changed = rows
    try invalidator.store.transaction { () throws(StoreError) in
      try invalidator.store.write(changed)
    }
    return outcome
  }

  private func deadCount(_ invalidator: TokenInvalidator, _ numbers: ClosedRange<Int>) throws
    -> Int
  {
    try numbers.count { try invalidator.store.device(Fixture.device($0)).isInvalid }
  }

  /// 300 forged answers in an app that loses five devices a day, which a share of its devices would let pass.
  @Test(arguments: DatabaseKind.allCases)
  func `a burst in a large quiet app is a wave, and one again a day and a week later`(
    kind: DatabaseKind
  ) throws {
    let invalidator = try invalidator(kind)
    try register(invalidator, 1...20_000, at: Self.first - Self.day)
    for day in 0..<5 {
      let numbers = (19_000 + day * 5)..<(19_005 + day * 5)
      try turn(invalidator, invalid(numbers, at: Self.first + Int64(day) * Self.day), now: 1)
    }
    #expect(try deadCount(invalidator, 19_000...19_024) == 25)
    // The same devices, as many others, and the same once more.
    for (wave, days, numbers) in [
      (1, 6, 1...300), (2, 7, 1...300), (3, 9, 301...600), (4, 16, 1...300),
    ] {
      let time = Self.first + Int64(days) * Self.day
      let outcome = try turn(invalidator, invalid(numbers, at: time), now: time + 60_000)
      #expect(outcome.alarms.count == 1 && outcome.publications.isEmpty, "wave \(wave)")
      try turn(invalidator, now: time + 60_000)
      #expect(try deadCount(invalidator, 1...600) == 0, "wave \(wave)")
    }
    // In a quiet hour an answer decides.
    try turn(invalidator, invalid([7], at: Self.first + 20 * Self.day), now: 1)
    #expect(try deadCount(invalidator, 1...600) == 1)
  }

  /// - Parameter days: how long the answers wait on their topic.
  @Test(arguments: [0, 5])
  func `a trickle that is above the norm of a day is a wave, and what it killed lives again`(
    days: Int64
  ) throws {
    let invalidator = try invalidator(.sqlite)
    try register(invalidator, 1...1_000, at: Self.first - Self.day)
    var alarms: [BadTokenAlarm] = []
    for hour in 0..<10 {
      let time = Self.first + Int64(hour) * Self.hour
      let numbers = (hour * 60 + 1)...(hour * 60 + 60)
      let now = time + days * Self.day + 60_000
      alarms += try turn(invalidator, invalid(numbers, at: time), now: now).alarms
      try turn(invalidator, now: now)
    }
    #expect(alarms.count == 1 && alarms.first?.span == "a day")
    #expect(try deadCount(invalidator, 1...600) == 0)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a wave that begins in a transaction that fails begins with the next attempt`(
    kind: DatabaseKind
  ) throws {
    let invalidator = try invalidator(kind)
    try register(invalidator, 1...300, at: Self.first - Self.day)
    let records = invalid(1...300, at: Self.first)
    let jobs = records.map {
      Job(
        partition: TopicPartition(topic: names.feedback, partition: 0), offset: 0,
        content: .feedback($0))
    }
    var isHeld = false
    _ = try? invalidator.store.transaction { () throws(StoreError) in
      isHeld = try invalidator.judge(jobs).publications.isEmpty
      // Whatever fails behind it.
      try TokenStore.checkLocation("postgresql://user:password@host/database")
    }
    #expect(isHeld)
    #expect(try invalidator.store.waves(Fixture.device(1).app, .production).isEmpty)
    let outcome = try turn(invalidator, records, now: Self.first)
    #expect(outcome.alarms.count == 1 && outcome.publications.isEmpty)
  }

  /// Of a backlog the partitions are read at different speeds.
  @Test func `answers from before the newest wave go on with the wave of their time`() throws {
    let invalidator = try invalidator(.sqlite, limit: 10)
    let (early, late) = (Self.first, Self.first + 2 * Self.day)
    try register(invalidator, 1...45, at: early - Self.day)
    #expect(try turn(invalidator, invalid(1...15, at: late), now: late).alarms.count == 1)
    #expect(try turn(invalidator, invalid(16...30, at: early), now: late).alarms.count == 1)
    let app = Fixture.device(1).app
    let waves = try invalidator.store.waves(app, .production)
    #expect(
      try invalidator.store.decide(
        app, .production, from: waves.first?.from, .init(.released, at: late), by: "ann") == 1)
    // What continues a released wave counts.
    let outcome = try turn(invalidator, invalid(31...45, at: early + 60_000), now: late)
    #expect(outcome.alarms.isEmpty)
    #expect(try invalidator.store.waves(app, .production).map(\.from) == waves.map(\.from))
    #expect(try deadCount(invalidator, 16...45) == 30 && deadCount(invalidator, 1...15) == 0)
  }

  /// Otherwise an answer would be in two waves, one of which may be released while the other one holds it.
  @Test func `a wave that is found late ends before the next one begins`() throws {
    let invalidator = try invalidator(.sqlite, limit: 10)
    let (early, late) = (Self.first, Self.first + 90 * 60_000)
    try register(invalidator, 1...45, at: early - Self.day)
    #expect(try turn(invalidator, invalid(1...15, at: late), now: late).alarms.count == 1)
    for (numbers, time) in [(16...30, early), (31...45, early + 60_000)] {
      try turn(invalidator, invalid(numbers, at: time), now: late)
      let waves = try invalidator.store.waves(Fixture.device(1).app, .production)
      #expect(waves.count == 2 && waves.first.map { $0.until + 1 } == waves.last?.from)
    }
  }

  @Test func `a wave that goes on in small batches is one wave`() throws {
    let invalidator = try invalidator(.sqlite)
    var alarms = 0
    for minute in 0..<240 {
      let time = Self.first + Int64(minute) * 60_000
      let numbers = (minute * 7 + 1)...(minute * 7 + 7)
      alarms += try turn(invalidator, invalid(numbers, at: time), now: time).alarms.count
    }
    try turn(invalidator, now: Self.first + 239 * 60_000)
    #expect(alarms == 1)
    #expect(try deadCount(invalidator, 1...1_680) == 0)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what an operator releases is invalid, but for what has registered since`(kind: DatabaseKind)
    throws
  {
    let invalidator = try invalidator(kind)
    try register(invalidator, 1...300, at: Self.first - Self.day)
    try turn(invalidator, invalid(1...300, at: Self.first), now: Self.first)
    try register(invalidator, 1...3, at: Self.first + Self.hour)
    let waves = try invalidator.store.undecidedWaves()
    #expect(waves.map(\.held) == [297])
    let decided = Self.first + 2 * Self.hour
    try invalidator.store.decide(
      "com.example.app", .production, .init(.released, at: decided), by: "ann")
    let outcome = try turn(invalidator, now: decided)
    #expect(outcome.publications.count == 297)
    #expect(try deadCount(invalidator, 1...300) == 297)
    #expect(try turn(invalidator, now: decided).publications.isEmpty)
    #expect(try invalidator.store.undecidedWaves().isEmpty)
    // What was released is the norm a day later.
    let later = try turn(
      invalidator, invalid(301...800, at: Self.first + 2 * Self.day), now: Self.first + 2 * Self.day
    )
    #expect(later.alarms.isEmpty && later.publications.count == 500)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what is released while nothing can be published for days is invalid afterwards`(
    kind: DatabaseKind
  ) throws {
    let invalidator = try invalidator(kind)
    try register(invalidator, 1...300, at: Self.first - Self.day)
    try turn(invalidator, invalid(1...300, at: Self.first), now: Self.first)
    try invalidator.store.decide(
      "com.example.app", .production, .init(.released, at: Self.first + Self.hour), by: "ann")
    let outcome = try turn(invalidator, now: Self.first + 3 * Self.day)
    #expect(outcome.publications.count == 300)
    #expect(try deadCount(invalidator, 1...300) == 300)
  }

  @Test func `releases are looked for since a day before the last look, at first since ever`() {
    let clock = ReleaseClock()
    #expect(clock.start(now: Self.first) < Self.first - Suspicion.memory)
    clock.noteLook(at: Self.first)
    #expect(clock.start(now: Self.first + 5 * Self.day) == Self.first - Self.day)
    #expect(clock.start(now: Self.first - Self.hour) == Self.first - Self.hour - Self.day)
  }

  @Test func `what an operator rejects is never invalid, and answers of a day more neither`() throws
  {
    let invalidator = try invalidator(.sqlite)
    try turn(invalidator, invalid(1...300, at: Self.first), now: Self.first)
    try invalidator.store.decide(
      "com.example.app", .production, .init(.rejected, at: Self.first), by: "ann")
    let more = try turn(
      invalidator, invalid(301...500, at: Self.first + Self.hour / 2), now: Self.first + Self.hour)
    #expect(more.alarms.isEmpty && more.publications.isEmpty)
    try turn(invalidator, now: Self.first + 2 * Self.day)
    #expect(try deadCount(invalidator, 1...500) == 0)
    let again = try turn(
      invalidator, invalid(1...300, at: Self.first + 2 * Self.day), now: Self.first + 2 * Self.day)
    #expect(again.alarms.count == 1, "a wave of another day is a wave of its own")
  }

  @Test func `the evidence is looked at once an hour, also after the clock was set back`() {
    let clock = WaveClock()
    #expect(clock.isDue(Self.first) && !clock.isDue(Self.first + Self.hour - 1))
    #expect(clock.isDue(Self.first + Self.hour) && !clock.isDue(Self.first + Self.hour))
    let back = Self.first - 5 * Self.hour
    #expect(clock.isDue(back) && !clock.isDue(back + 1) && clock.isDue(back + Self.hour))
  }

  /// Each look is one at all devices.
  @Test func `of several waves the evidence about one is looked at in a transaction`() throws {
    let invalidator = try invalidator(.sqlite)
    try register(invalidator, 1...20_000, at: Self.first - 90 * Self.day)
    for (numbers, hour) in [(1...400, 0), (401...800, 6)] as [(ClosedRange<Int>, Int64)] {
      let time = Self.first + hour * Self.hour
      let outcome = try turn(invalidator, invalid(numbers, at: time), now: time)
      #expect(outcome.alarms.count == 1 && outcome.publications.isEmpty)
    }
    try register(
      invalidator, (801...20_000).filter { $0 % 10 == 0 }, at: Self.first + Self.day / 2)
    for believed in [[400], [400], []] {
      let outcome = try turn(invalidator, now: Self.first + 2 * Self.day)
      #expect(outcome.believed.map(\.wave.held) == believed)
    }
    #expect(try deadCount(invalidator, 1...800) == 800)
  }

  /// 2 % of an app's devices after a long silence; a tenth of the others registers within a day.
  @Test(arguments: DatabaseKind.allCases)
  func `an honest harvest is believed when its devices show no life, forged answers are not`(
    kind: DatabaseKind
  ) throws {
    for isHonest in [true, false] {
      let invalidator = try invalidator(kind)
      try register(invalidator, 1...20_000, at: Self.first - 90 * Self.day)
      let outcome = try turn(invalidator, invalid(1...400, at: Self.first), now: Self.first)
      #expect(outcome.alarms.count == 1 && outcome.publications.isEmpty)
      let launched = (1...20_000).filter { $0 % 10 == 0 && !(isHonest && $0 <= 400) }
      try register(invalidator, launched, at: Self.first + Self.day / 2)
      // Devices that are new say nothing of the others.
      try register(invalidator, 30_001...31_000, at: Self.first + Self.day / 2)
      let early = try turn(invalidator, now: Self.first + Self.day / 2)
      #expect(early.believed.isEmpty)
      let late = try turn(invalidator, now: Self.first + Self.day + Self.hour)
      #expect(late.believed.map(\.wave.held) == (isHonest ? [400] : []))
      #expect(late.believed.first.map(\.evidence.expected) ?? 39 == 39)
      #expect(try deadCount(invalidator, 1...400) == (isHonest ? 400 : 0))
      if kind == .postgres { break }
    }
  }

  @Test func `answers that were late together are no wave, and an import is one`() throws {
    let invalidator = try invalidator(.sqlite)
    let late = (0..<300).map { number in
      invalid([number + 1], at: Self.first + Int64(number) * 1_200_000)[0]
    }
    #expect(try turn(invalidator, late, now: 1).publications.count == 300)
    // Anybody who may write the topic can say that it is an import, and of what age.
    let other = try self.invalidator(.sqlite, limit: 50)
    let reader = JobReader(names)
    var records: [FeedbackRecord] = []
    for number in 1001...1_300 {
      var record = invalid([number], at: Self.first - Int64(number) * Self.hour)[0]
      record.isImported = true
      let content = record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes {
          reader.content(
            names.feedback, key: key, value: $0, timestamp: Self.first, now: Self.first)
        }
      }
      guard case .feedback(let read) = content else { throw KafkaFixtureTimeout() }
      #expect(read.at == Self.first - Self.hour && read.sentAt == record.sentAt)
      records.append(read)
    }
    let outcome = try turn(other, records, now: Self.first)
    #expect(outcome.alarms.count == 1 && outcome.publications.isEmpty)
    #expect(try other.store.undecidedWaves().map(\.held) == [300])
  }
}
