// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing

@testable import Webhooks

/// Everything about one endpoint, in a time that the tests decide, with `EventLane`.
@Suite struct EndpointMachineTests {
  static let hour: UInt64 = 3_600_000
  static let day = 24 * hour
  static let (a, b) = (Source(topic: 0, partition: 0), Source(topic: 0, partition: 1))

  /// A machine with its clocks, which run together unless a test says otherwise.
  struct Bench {
    var machine: EndpointMachine
    var now: UInt64 = 1_000
    var wall: Int64 = 1_795_000_000_000
    var random: UInt64 = 7

    init(_ sources: [Source] = [a], limits: BatchLimits = BatchLimits(), laneBytes: Int = 1 << 20) {
      var subscription = Subscription(
        name: "crm", url: "https://a.example", keys: [[1]], kinds: [.delivered])
      subscription.limits = limits
      machine = EndpointMachine(
        subscription, topics: ["push.receipts"], window: day, laneBytes: laneBytes)
      machine.begin(sources)
    }

    mutating func pass(_ milliseconds: UInt64) {
      now += milliseconds
      wall += Int64(milliseconds)
    }

    /// A record with so many events, written now.
    mutating func add(_ offset: Int64, _ count: Int = 1, of source: Source = a) {
      let events = (0..<count).map { line in
        WebhookEvent(
          .delivered, Array("{}".utf8), topic: "push.receipts", partition: source.partition,
          offset: offset, line: line, recordedAt: wall, time: wall)
      }
      machine.add(events, of: source, now: now)
    }

    mutating func next() -> EndpointMachine.Action? { machine.next(now: now, wall: wall) }

    /// What is sent now; nil when nothing is, or something is given up.
    mutating func send() -> (source: Source, batch: WebhookBatch)? {
      guard case .send(let source, let batch) = next() else { return nil }
      return (source, batch)
    }

    @discardableResult
    mutating func answer(
      _ status: Int?, _ source: Source = a, retryAfter: UInt64? = nil
    ) -> [Int64] {
      random = random &* 6_364_136_223_846_793_005 &+ 1
      return machine.answered(
        source, status.map { .status($0, retryAfter: retryAfter) } ?? .none, now: now,
        random: random)
    }

    /// Lets time pass until something is to be done, a second at a time.
    mutating func wait(upTo limit: UInt64) -> EndpointMachine.Action? {
      let end = now + limit
      while now < end {
        if let action = next() { return action }
        pass(1_000)
      }
      return nil
    }
  }

  @Test func `an imported registration is as old as its record, not as the time that it names`() {
    var bench = Bench()
    func event(_ offset: Int64, recordedAt: Int64) -> WebhookEvent {
      WebhookEvent(
        .tokenRegistered, Array("{}".utf8), topic: "push.devices", partition: 0, offset: offset,
        line: 0, recordedAt: recordedAt, time: 0)
    }
    bench.machine.add([event(0, recordedAt: bench.wall - 5)], of: Self.a, now: bench.now)
    #expect(bench.machine.oldest == bench.wall - 5)
    var other = Bench()
    // A record without a timestamp.
    other.machine.add([event(0, recordedAt: -1)], of: Self.a, now: other.now)
    #expect(other.machine.oldest == 0)
  }

  // MARK: Batches

  @Test func `the first event waits for others no longer than the linger`() {
    var bench = Bench()
    bench.add(0)
    bench.pass(999)
    bench.add(1)
    #expect(bench.next() == nil)
    bench.pass(1)
    #expect(bench.send()?.batch.count == 2)
  }

  @Test func `a batch that has all it may have goes at once, the rest follows it in order`() {
    var limits = BatchLimits()
    limits.events = 3
    var bench = Bench(limits: limits)
    bench.add(0, 2)
    bench.add(1, 3)
    #expect(bench.send()?.batch.offsets == 0...1)
    // One at a time of a partition.
    bench.pass(5_000)
    #expect(bench.next() == nil)
    // Of record 1 two events are left.
    #expect(bench.answer(200) == [0])
    #expect(bench.send()?.batch.offsets == 1...1)
    #expect(bench.answer(204) == [1])
    #expect(bench.machine.queued == 0 && bench.machine.isIdle)
  }

  @Test func `the bytes of a batch are bounded, but a single event goes whatever it has`() {
    var limits = BatchLimits()
    limits.bytes = 1
    var bench = Bench(limits: limits)
    bench.add(0, 2)
    #expect(bench.send()?.batch.count == 1)
  }

  @Test func `a partition with enough waiting is not read, and does not wait for more`() {
    var bench = Bench([Self.a, Self.b], laneBytes: 150)
    #expect(bench.machine.hasRoom(Self.a))
    bench.add(0, 2)
    #expect(!bench.machine.hasRoom(Self.a))
    #expect(bench.machine.hasRoom(Self.b))
    #expect(bench.send()?.batch.count == 2)
    bench.answer(200)
    #expect(bench.machine.hasRoom(Self.a))
  }

  @Test func `the same events make the same id and body`() throws {
    var first = Bench()
    var second = Bench()
    for offset in 5..<8 as Range<Int64> {
      first.add(offset)
      second.add(offset)
    }
    first.pass(1_000)
    second.pass(3_000)
    let batch = try #require(first.send()?.batch)
    #expect(second.send()?.batch == batch)
    #expect(batch.id == "msg_crm_push-receipts_0_5-0_7-0_1795000000000")
    first.answer(500)
    _ = first.wait(upTo: 60_000)
    #expect(
      String(decoding: batch.body, as: UTF8.self).hasPrefix(
        """
        {"type":"martlet.events","timestamp":"2026-11-18T11:06:40.000Z","data":[{"id":\
        "push.receipts/0/5/0@1795000000000","type":"notification.delivered","timestamp":\
        "2026-11-18T11:06:40.000Z","data":{}},{"id":
        """))
  }

  @Test func `partitions are sent at once, each in order`() {
    let sources = (0..<6).map { Source(topic: 0, partition: $0) }
    var bench = Bench(sources)
    for source in sources { bench.add(0, of: source) }
    bench.pass(1_000)
    var sent: [Source] = []
    while let (source, _) = bench.send() { sent.append(source) }
    #expect(sent == Array(sources.prefix(EndpointMachine.concurrency)))
    bench.answer(200, sources[1])
    #expect(bench.send()?.source == sources[4])
  }

  // MARK: Failures

  @Test(arguments: [nil, 199, 302, 400, 401, 404, 408, 429, 500, 503] as [Int?])
  func `anything but 2xx is tried again, the same batch, later and later`(status: Int?) throws {
    var bench = Bench()
    bench.add(3)
    bench.pass(1_000)
    let batch = try #require(bench.send()?.batch)
    var waits: [UInt64] = []
    for _ in 0..<12 {
      #expect(bench.answer(status) == [])
      #expect(bench.machine.isFailing)
      let start = bench.now
      #expect(bench.wait(upTo: 400_000) == .send(Self.a, batch))
      waits.append(bench.now - start)
    }
    #expect(waits[0] <= 1_000)
    #expect(zip(waits, waits.dropFirst()).filter { $0 > $1 }.count < 6)
    #expect(waits.allSatisfy { $0 <= 300_000 } && (waits.last ?? 0) >= 150_000)
    #expect(bench.answer(200) == [3])
    #expect(!bench.machine.isFailing)
  }

  @Test func `while the endpoint is away one request at a time asks for it, then all go`() {
    var bench = Bench([Self.a, Self.b])
    bench.add(0)
    bench.add(0, of: Self.b)
    bench.pass(1_000)
    #expect(bench.send() != nil && bench.send() != nil)
    bench.answer(nil)
    bench.answer(nil, Self.b)
    for _ in 0..<4 {
      guard case .send(let source, _)? = bench.wait(upTo: 600_000) else { return }
      #expect(bench.next() == nil)
      bench.answer(nil, source)
    }
    guard case .send(let source, _)? = bench.wait(upTo: 600_000) else {
      return #expect(Bool(false), "nothing is sent")
    }
    #expect(bench.answer(200, source) == [0])
    // The other one waits for nothing any more.
    #expect(bench.send()?.source == (source == Self.a ? Self.b : Self.a))
  }

  @Test func `a batch that always fails delays the other partitions less and less`() {
    var bench = Bench([Self.a, Self.b])
    bench.add(0)
    var delivered = 0
    var refused = 0
    let end = bench.now + Self.hour
    while bench.now < end {
      if bench.machine.hasRoom(Self.b) { bench.add(Int64(delivered), of: Self.b) }
      while let (source, _) = bench.send() {
        if source == Self.a { refused += 1 }
        bench.answer(source == Self.a ? 500 : 200, source)
        if source == Self.b { delivered += 1 }
      }
      bench.pass(1_000)
    }
    #expect(refused < 40)
    // Undisturbed, it would be one every two seconds.
    #expect(delivered > 1_700)
  }

  @Test func `Retry-After is waited for`() {
    var bench = Bench()
    bench.add(0)
    bench.pass(1_000)
    _ = bench.send()
    bench.answer(429, retryAfter: 600_000)
    let start = bench.now
    #expect(bench.wait(upTo: 700_000) != nil)
    #expect(bench.now - start == 600_000)
  }

  @Test func `the wait that the endpoint asks for holds though it accepts what was under way`() {
    var bench = Bench([Self.a, Self.b])
    bench.add(0)
    bench.add(0, of: Self.b)
    bench.pass(1_000)
    #expect(bench.send()?.source == Self.a)
    #expect(bench.send()?.source == Self.b)
    bench.answer(429, retryAfter: 60_000)
    #expect(bench.answer(200, Self.b) == [0])
    bench.pass(59_999)
    #expect(bench.next() == nil)
    bench.pass(1)
    #expect(bench.send()?.source == Self.a)
  }

  @Test func `a batch that is too large is sent in halves, a single event that is too large fails`()
  {
    var bench = Bench()
    for offset in 0..<4 as Range<Int64> { bench.add(offset) }
    bench.pass(1_000)
    #expect(bench.send()?.batch.offsets == 0...3)
    #expect(bench.answer(413) == [])
    #expect(!bench.machine.isFailing)
    #expect(bench.send()?.batch.offsets == 0...1)
    bench.answer(413)
    #expect(bench.send()?.batch.offsets == 0...0)
    bench.answer(413)
    #expect(bench.machine.isFailing)
    guard case .send(_, let batch)? = bench.wait(upTo: 60_000) else { return }
    #expect(batch.offsets == 0...0)
    #expect(bench.answer(200) == [0])
    bench.pass(1_000)
    // Two were too large.
    #expect(bench.send()?.batch.offsets == 1...1)
  }

  /// What a proxy in front of the endpoint takes, such as nginx with its `client_max_body_size`, may be raised.
  @Test func `of an endpoint that takes less than a batch few requests are too large`() {
    var limits = BatchLimits()
    limits.events = 20
    var bench = Bench(limits: limits)
    for offset in 0..<10_000 as Range<Int64> { bench.add(offset) }
    bench.pass(1_000)
    var done: [Int64] = []
    func send(limit: Int, _ requests: Int) -> (tooLarge: Int, longest: Int) {
      var (tooLarge, longest) = (0, 0)
      for _ in 0..<requests {
        guard let batch = bench.send()?.batch else { break }
        let isTaken = batch.body.count <= limit
        done += bench.answer(isTaken ? 200 : 413)
        tooLarge += isTaken ? 0 : 1
        longest = max(longest, isTaken ? batch.body.count : 0)
      }
      return (tooLarge, longest)
    }
    let (first, longest) = send(limit: 1_500, 300)
    #expect(first < 30 && longest > 1_200, "\(first) of 300, \(longest)")
    let (later, _) = send(limit: 100_000, 300)
    #expect(later == 0)
    #expect(bench.send()?.batch.count == 20, "it takes more now")
    #expect(done == Array(0..<Int64(done.count)))
  }

  // MARK: The end

  @Test func `an outage of two hours loses nothing`() throws {
    var bench = Bench()
    var done: [Int64] = []
    var offset: Int64 = 0
    let back = bench.now + 2 * Self.hour
    while bench.now < back + 600_000 {
      if bench.now < back, bench.machine.hasRoom(Self.a) {
        bench.add(offset)
        offset += 1
      }
      while let action = bench.next() {
        guard case .send = action else { return #expect(Bool(false), "given up: \(action)") }
        done += bench.answer(bench.now < back ? nil : 200)
      }
      bench.pass(10_000)
    }
    #expect(done == Array(0..<offset))
  }

  @Test func `what the endpoint does not take for 24 hours is given up, and what came later later`()
  {
    var bench = Bench()
    bench.add(0)
    bench.pass(1_000)
    let start = bench.now
    var attempts = 0
    var action = bench.next()
    while case .send? = action {
      attempts += 1
      bench.answer(500)
      action = bench.wait(upTo: 400_000)
      // Written when half of the time is over; it waits behind the first.
      if bench.now > start + Self.day / 2, bench.machine.queued == 1 { bench.add(1) }
    }
    guard case .bury(Self.a, let batch, attempts)? = action else {
      return #expect(Bool(false), "not given up: \(String(describing: action))")
    }
    #expect(batch.offsets == 0...0)
    #expect((Self.day...Self.day + 300_000).contains(bench.now - start))
    #expect((280...640).contains(attempts))
    // The machine waits for the acknowledgement.
    #expect(bench.next() == nil && !bench.machine.isIdle)
    #expect(bench.machine.buried(Self.a) == [0])
    // The second one has its own 24 hours.
    while case .send? = bench.wait(upTo: 400_000) { bench.answer(500) }
    #expect(bench.now - start >= Self.day + Self.day / 2)
    #expect(bench.machine.buried(Self.a) == [1])
  }

  @Test func `a clock that jumps ahead gives up nothing that was not tried for 24 hours`() {
    var bench = Bench()
    bench.add(0)
    bench.pass(1_000)
    _ = bench.send()
    bench.answer(nil)
    bench.wall += 400 * Int64(Self.day)
    let start = bench.now
    while case .send? = bench.wait(upTo: 400_000) { bench.answer(nil) }
    #expect(bench.now - start >= Self.day - 1_000)
  }

  @Test func `a clock that is set back delays the end by no more than 24 hours`() {
    var bench = Bench()
    bench.add(0)
    bench.pass(1_000)
    _ = bench.send()
    bench.answer(nil)
    bench.wall -= 400 * Int64(Self.day)
    while case .send? = bench.wait(upTo: 400_000) { bench.answer(nil) }
    #expect(bench.machine.buried(Self.a) == [0])
  }

  @Test func `after 410 nothing is sent, and what waits is given up after 24 hours`() {
    var bench = Bench([Self.a, Self.b])
    bench.add(0)
    bench.pass(1_000)
    _ = bench.send()
    bench.answer(410)
    #expect(bench.machine.isGone)
    bench.add(7, of: Self.b)
    let start = bench.now
    guard case .bury(let source, _, _)? = bench.wait(upTo: 2 * Self.day) else {
      return #expect(Bool(false), "something is sent, or nothing given up")
    }
    #expect(bench.now - start >= Self.day - 1_000)
    #expect(bench.machine.buried(source).count == 1)
  }

  // MARK: Partitions that go

  @Test func `while partitions are given back nothing is sent, and what was is waited for`() {
    var bench = Bench([Self.a, Self.b])
    bench.add(0)
    bench.pass(1_000)
    _ = bench.send()
    bench.add(0, of: Self.b)
    bench.machine.drain()
    bench.pass(5_000)
    #expect(bench.next() == nil && !bench.machine.isIdle)
    #expect(!bench.machine.hasRoom(Self.b))
    #expect(bench.answer(200) == [0])
    #expect(bench.machine.isIdle)
    bench.machine.begin([Self.b])
    #expect(bench.machine.hasRoom(Self.b) && !bench.machine.hasRoom(Self.a))
    // What was taken is taken again.
    #expect(bench.machine.queued == 0)
    #expect(bench.answer(200) == [])
  }

  @Test func `the oldest event that is not done is known`() {
    var bench = Bench([Self.a, Self.b])
    #expect(bench.machine.oldest == nil)
    bench.add(0)
    let time = bench.wall
    bench.pass(1_000)
    bench.add(0, of: Self.b)
    #expect(bench.machine.oldest == time)
    _ = bench.send()
    bench.answer(200)
    #expect(bench.machine.oldest == time + 1_000)
  }
}
