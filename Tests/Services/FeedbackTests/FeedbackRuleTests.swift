// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Kafka
import Pipeline
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

@Suite struct FeedbackRuleTests {
  private typealias Fixture = FeedbackFixture

  private let folder = TemporaryFolder()
  private let device = FeedbackFixture.device(1)

  private func job(_ content: Job.Content) -> Job {
    Job(partition: TopicPartition(topic: "t", partition: 0), offset: 0, content: content)
  }

  /// All facts of any order end in the same state, and telling them again changes nothing.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `a batch applied again changes nothing, with any clock skew and missing times`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let skew = Int64(random.next() % 2) * 40
    var jobs: [Job] = []
    for _ in 0..<4 {
      let time = Int64(random.next() % 60)
      let timestamp: Int64? = random.next() % 3 == 0 ? nil : time
      jobs.append(
        job(.feedback(Fixture.feedback(device, timestamp: timestamp, sentAt: time + 10))))
      let registered = Int64(random.next() % 120)
      jobs.append(job(.device(DeviceRecord(device: device, event: .registered(at: registered)))))
    }
    var ends: [Int64?] = []
    for order in 0..<3 {
      let store = try TokenStore(path: folder.file("\(seed)-\(order).db"), now: 1)
      let desk = HygieneDesk(store, clockSkew: skew)
      let shuffled = jobs.shuffled(using: &random)
      _ = try desk.apply(shuffled, now: 1_000)
      let once = try store.device(device.identity)
      let published = try desk.apply(shuffled, now: 2_000).publications.map(\.record)
      #expect(try store.device(device.identity) == once, "skew \(skew), order \(order)")
      #expect(published.allSatisfy { $0?.invalidSince == once?.invalidSince })
      ends.append(once?.invalidSince)
    }
    #expect(Set(ends.map { $0 == nil }).count == 1, "dead in every order or in none")
  }

  @Test func `a registration at the very moment of a push without a time keeps the token`() throws {
    for isFirst in [true, false] {
      let store = try TokenStore(path: folder.file("moment-\(isFirst).db"), now: 1)
      let desk = HygieneDesk(store, clockSkew: 0)
      let answer = job(.feedback(Fixture.feedback(device, timestamp: nil, sentAt: 50)))
      let registration = job(.device(DeviceRecord(device: device, event: .registered(at: 50))))
      _ = try desk.apply(isFirst ? [registration, answer] : [answer, registration], now: 1)
      #expect(try store.device(device.identity)?.invalidSince == nil)
    }
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
    #expect(
      fixture.invalid(atLeast: 1).map(\.device.token) == [Fixture.device(2).token])
    let letters = try fixture.kafka.read(fixture.names.deadLetters, count: 12)
    #expect(letters.count == 12)
    let details = letters.flatMap(\.headers).filter { $0.name == DeadLetterHeader.detail }.map {
      String(decoding: $0.value, as: UTF8.self)
    }
    #expect(details.filter { $0.contains("sent_at: is no time") }.count == 4)
    #expect(details.filter { $0.contains("timestamp: is no time") }.count == 4)
    #expect(details.filter { $0.contains("registered_at: is no time") }.count == 4)
    #expect(service.failure.drain().isEmpty)
  }
}
