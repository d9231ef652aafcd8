// SPDX-License-Identifier: Apache-2.0

internal import Contract
import Gateways
internal import Random
public import Telemetry

/// One loop of a sender in virtual time: notifications arrive at random moments, and the shipped decisions say which is
/// sent when: `SendQueue` and `LaneShares` choose among the lanes, `ConnectionPoolPolicy` opens connections,
/// `ConnectionStateMachine` says how many streams each has. A turn is a millisecond, in which the loop has so much CPU.
///
/// What it leaves out: Kafka, other credentials, retries, and answers other than 200.
public struct LoopSimulation: Sendable {
  /// The load that one loop is given.
  public struct Load: Sendable {
    /// Notifications that arrive per second, by lane.
    public var transactional: Double
    public var bulk: Double
    public var answers: AnswerTimes
    /// CPU microseconds of one notification.
    public var cost: Double
    public var limits: LoopLimits

    public init(
      transactional: Double, bulk: Double, answers: AnswerTimes, cost: Double, limits: LoopLimits
    ) {
      self.transactional = transactional
      self.bulk = bulk
      self.answers = answers
      self.cost = cost
      self.limits = limits
    }
  }

  /// The result of the simulation. Times run from the arrival to the answer, in microseconds.
  public struct Report: Sendable {
    public var transactional = LatencyHistogram()
    public var bulk = LatencyHistogram()
    public var connections = 0
    /// Most notifications that were sent and not answered.
    public var inFlight = 0
    /// Answers per second.
    public var rate = 0.0
    /// Notifications that had arrived and waited for a slot at the end: they wait in Kafka.
    public var waiting = 0
  }

  private struct Push {
    var arrived: Double
    var lane: Lane
    var connection = 0
  }

  /// TCP, TLS and SETTINGS of a new connection, in milliseconds.
  private static let connectTime: UInt64 = 100
  /// Milliseconds between two looks at a pool's connections.
  private static let upkeep: UInt64 = 100
  private static let longest = 65_536

  private let load: Load
  private var random: SeededGenerator
  private var report = Report()
  private var now: UInt64 = 0
  /// Lanes of Kafka: when each waiting notification arrived.
  private var arrivals: (transactional: Arrivals, bulk: Arrivals)
  private var pushes: [Push]
  private var free: [UInt32]
  private var queue: SendQueue
  private let shares: LaneShares
  private var inFlight = ByClass(repeating: 0)
  private var policy: ConnectionPoolPolicy
  private var connections: [ConnectionStateMachine] = []
  /// When connections on their way are there.
  private var arriving: [UInt64] = []
  /// By the millisecond, modulo the ring's size: slots that are answered then.
  private var answersDue: [[UInt32]]
  private var answered = 0
  /// CPU that the turn has left, in microseconds; may be owed.
  private var budget = 0.0

  public init(_ load: Load, seed: UInt64) {
    self.load = load
    var random = SeededGenerator(seed: seed)
    arrivals = (
      Arrivals(perSecond: load.transactional, &random), Arrivals(perSecond: load.bulk, &random)
    )
    self.random = random
    pushes = Array(repeating: Push(arrived: 0, lane: .bulk), count: load.limits.maxInFlight)
    free = (0..<UInt32(load.limits.maxInFlight)).reversed()
    shares = LaneShares(load.limits.lanes)
    queue = SendQueue(shares: shares)
    policy = ConnectionPoolPolicy(limits: load.limits.pool)
    answersDue = Array(repeating: [], count: Self.longest)
  }

  /// Runs so many milliseconds; what ends in the first `warmUp` of them does not count.
  public mutating func run(milliseconds: Int, warmUp: Int) -> Report {
    for turn in 0..<milliseconds {
      if turn == warmUp {
        report = Report()
        answered = 0
      }
      takeTurn()
    }
    report.connections = connections.count
    report.rate = Double(answered) * 1_000 / Double(max(1, milliseconds - warmUp))
    report.waiting = arrivals.transactional.waiting + arrivals.bulk.waiting
    return report
  }

  private mutating func takeTurn() {
    now += 1
    budget = min(1_000, budget + 1_000)
    drainAnswers()
    arrivals.transactional.advance(to: Double(now), &random)
    arrivals.bulk.advance(to: Double(now), &random)
    takeIn()
    serve()
    send()
    if now % Self.upkeep == 0 { connect() }
  }

  private mutating func drainAnswers() {
    let place = Int(now) % Self.longest
    let due = answersDue[place]
    answersDue[place].removeAll(keepingCapacity: true)
    for slot in due {
      let push = pushes[Int(slot)]
      _ = connections[push.connection].accepted()
      queue.ended(SendClass(push.lane))
      let time = UInt64(max(0, (Double(now) - push.arrived) * 1_000))
      if push.lane == .first { report.transactional.record(time) } else { report.bulk.record(time) }
      inFlight[Int(SendClass(push.lane).place)] -= 1
      free.append(slot)
      answered += 1
    }
  }

  /// Fills the slots, a share of which is kept for transactional notifications.
  private mutating func takeIn() {
    while hasRoom(for: .first), let at = arrivals.transactional.next() { accept(at, .first) }
    while hasRoom(for: .bulk), let at = arrivals.bulk.next() { accept(at, .bulk) }
  }

  private func hasRoom(for lane: Lane) -> Bool {
    shares.room(for: SendClass(lane), of: load.limits.maxInFlight, open: inFlight) > 0
  }

  private mutating func accept(_ arrived: Double, _ lane: Lane) {
    let slot = free.removeLast()
    pushes[Int(slot)] = Push(arrived: arrived, lane: lane)
    queue.append(slot, SendClass(lane))
    inFlight[Int(SendClass(lane).place)] += 1
  }

  /// Connections that were on their way serve.
  private mutating func serve() {
    let here = arriving.count { $0 <= now }
    for _ in 0..<here {
      var connection = ConnectionStateMachine(authentication: .providerToken)
      connection.connected()
      connection.settings(limit: load.limits.streams)
      connections.append(connection)
    }
    arriving.removeAll { $0 <= now }
  }

  /// Asks the policy whether to open a connection. It closes none: a run is shorter than the time that fewer would have
  /// to be enough for.
  private mutating func connect() {
    let state = ConnectionPoolPolicy.Load(
      connecting: arriving.count, serving: connections.count,
      credit: connections.reduce(0) { $0 + $1.credit },
      openStreams: connections.reduce(0) { $0 + $1.openStreams },
      capacity: connections.count * load.limits.streams, isWaiting: !queue.isEmpty)
    if case .open = policy.decide(state, .all, now: now) { arriving.append(now + Self.connectTime) }
  }

  private mutating func send() {
    let capacity = connections.reduce(0) { $0 + $1.capacity }
    while budget > 0, let connection = mostFree(), let slot = queue.next(capacity: capacity) {
      connections[connection].opened(now: Int64(now))
      pushes[Int(slot)].connection = connection
      budget -= load.cost
      let due = now + UInt64(max(1, load.answers.draw(&random).rounded()))
      answersDue[Int(due) % Self.longest].append(slot)
    }
    report.inFlight = max(report.inFlight, queue.open)
  }

  private func mostFree() -> Int? {
    var best: (place: Int, credit: Int)?
    for place in connections.indices where connections[place].credit > best?.credit ?? 0 {
      best = (place, connections[place].credit)
    }
    return best?.place
  }
}

/// Notifications of one lane that arrive at random moments, and those of them that wait.
private struct Arrivals: Sendable {
  private let perSecond: Double
  private var times: [Double] = []
  private var head = 0
  private var nextAt: Double

  init(perSecond: Double, _ random: inout SeededGenerator) {
    self.perSecond = perSecond
    nextAt = .infinity
    if perSecond > 0 { nextAt = gap(&random) }
  }

  var waiting: Int { times.count - head }

  mutating func advance(to now: Double, _ random: inout SeededGenerator) {
    while nextAt <= now {
      times.append(nextAt)
      nextAt += gap(&random)
    }
  }

  mutating func next() -> Double? {
    guard head < times.count else {
      times.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    defer { head += 1 }
    return times[head]
  }

  /// Milliseconds until the next one, exponentially distributed.
  private func gap(_ random: inout SeededGenerator) -> Double {
    -Logarithm.natural(1 - random.share()) * 1_000 / perSecond
  }
}
