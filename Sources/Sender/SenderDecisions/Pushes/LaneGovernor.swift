// SPDX-License-Identifier: Apache-2.0

/// How many of a destination's streams the lanes behind the first one may have: fewer while the gateway queues.
///
/// A gateway that is given more than it can do at once answers everything later, the first lane's pushes as well, however
/// many streams those have left. That shows in the latency of the first lane: while the mean of a look is over the floor,
/// the lowest mean of the last minutes, by `slow`, or more than 1 % of the answers are 503, the other lanes' streams
/// halve; the first time, for latency, they fall as far as it says. A look while more are open than may be judges nothing.
/// They grow again by 5 % a second, faster while nothing queues, until more than they need. If latency does not follow, it
/// is not our doing: they have at once what they had before, and what latency is now becomes the floor. A limit for
/// latency holds while the first lane has pushes, one for 503s always. Retries have no limit: they are few.
///
/// Times are milliseconds.
public struct LaneGovernor: Sendable {
  /// The shortest time between two looks; never less than an answer takes, for a change shows in later answers only.
  static let interval: UInt64 = 500
  /// Answers of the first lane, and answers in all, that a look needs to judge latency and 503s.
  static let least = 8
  static let leastAnswers = 100
  /// Over twice the floor the 99th percentile could not stay below one and a half of what it is without bulk.
  static let slow = 1.4
  /// So many milliseconds over it are noise: times are whole milliseconds.
  static let noise: Double = 4
  static let growth = 1.05
  /// With a mean below so many times the floor nothing queues.
  static let quick = 1.1
  static let recovery = 1.4
  /// What is open above the limit is waited for so long: retries may be among it.
  static let longestDrain: UInt64 = 30_000
  /// Halvings in a row that latency does not follow until it is taken for the gateway's own.
  static let patience = 4
  /// Streams that the other lanes always have.
  static let lowest = 4
  /// After so many milliseconds without need there is no limit any more: a lane that reads on in gusts needs it.
  static let calm: UInt64 = 10_000
  /// The floor is the lowest of six stretches of so many milliseconds.
  static let stretch: UInt64 = 30_000
  /// After so many looks without anything of the first lane its limit does not hold, until that lane sends again.
  static let absence = 2

  /// Streams that the other lanes may have open; `.max` while nothing holds them back.
  public var limit: Int { isLifted || exact == .infinity ? .max : Int(exact) }
  private var exact = Double.infinity
  /// When to look again.
  private(set) var lookAt: UInt64 = 0
  private var lookedAt: UInt64 = 0
  /// Since the last look: answers to first sends of the first lane, and their time; answers of all, and the 503s.
  private var first = 0
  private var time: Int64 = 0
  private var answers = 0
  private var overloads = 0
  /// The lowest mean of each of the last stretches.
  private var floors = InlineArray<6, Double>(repeating: .infinity)
  private var newest: UInt64 = 0
  /// Since when the other lanes need less than half of what they may have; 0 while they need it.
  private var calmSince: UInt64 = 0
  /// Halvings since latency was well, the worst mean since, and the limit at the first of them.
  private var halvings = 0
  private var worst: Double = 0
  /// Whether more streams were open at the last look than may be, and when they became too many.
  private var isDraining = false
  private var fellAt: UInt64 = 0
  private var exactBefore = Double.infinity
  /// Whether latency made the limit, not 503s; looks since the first lane has sent or heard anything.
  private var isForLatency = false
  private var absences = 0
  private var hasSent = false
  private var isLifted: Bool { absences >= Self.absence }

  public init() {}

  // MARK: Events

  /// A push of the first lane goes out.
  public mutating func sendsFirst(now: UInt64) {
    hasSent = true
    if isLifted { (absences, fellAt) = (0, now) }
  }

  /// APNs has answered.
  ///
  /// - Parameter isOverload: with 503.
  public mutating func answered(isOverload: Bool) {
    answers &+= 1
    if isOverload { overloads &+= 1 }
  }

  /// It was a first send of the first lane, answered after so many milliseconds of the time of day.
  ///
  /// - Parameter timeout: how long an answer may take, in milliseconds.
  public mutating func answered(first milliseconds: Int64, timeout: UInt64 = .max) {
    // The clock was set meanwhile. Back: with a floor below zero every later look would be slow, for three minutes.
    // Ahead by an hour: the other lanes would fall to the lowest, and stay there until the next look, an hour later.
    guard milliseconds >= 0, milliseconds <= timeout else { return }
    first &+= 1
    time &+= milliseconds
  }

  /// Judges what has come since the last look.
  ///
  /// - Parameters:
  ///   - open: streams that the other lanes have.
  ///   - wanted: they would have more if they might.
  ///   - hasFirst: pushes of the first lane wait for streams or answers.
  public mutating func look(open: Int, isWanted: Bool, hasFirst: Bool, now: UInt64) {
    let elapsed = lookedAt == 0 ? 0 : Double(min(now - lookedAt, 10_000)) / 1_000
    (lookedAt, lookAt) = (now, now + Self.interval)
    defer { (first, time, answers, overloads, hasSent) = (0, 0, 0, 0, false) }
    let isOverloaded = answers >= Self.leastAnswers && overloads * 100 > answers
    // Without the limit there are 503s: from now on it is for these.
    if isLifted, isOverloaded { isForLatency = false }
    let isAbsent = !hasFirst && !hasSent && first == 0 && isForLatency && !isOverloaded
    if isLifted, !isAbsent { fellAt = now }
    absences = isAbsent ? absences + 1 : 0
    // Answers to what was open before say nothing of the limit.
    let wasDraining = isDraining
    isDraining = open > limit && now < fellAt + Self.longestDrain
    if isDraining || wasDraining { return }
    guard first >= Self.least || isOverloaded else { return grow(elapsed, open, isWanted) }
    let mean = first > 0 ? Double(time) / Double(first) : 0
    lookAt = max(lookAt, now + UInt64(max(0, mean)))
    let floor = first >= Self.least ? floor(with: mean, now: now) : .infinity
    let bound = max(floor * Self.slow, floor + Self.noise)
    let isSlow = mean > bound
    guard isSlow || isOverloaded, open > Self.lowest else {
      halvings = 0
      return grow(elapsed, open, isWanted, isQuick: !isOverloaded && mean < floor * Self.quick)
    }
    if halvings == 0 { (worst, exactBefore) = (mean, exact) }
    worst = max(worst, mean)
    halvings += 1
    guard isOverloaded || halvings <= Self.patience || mean < worst * 0.9 else {
      // The gateway is slower than it was, whatever we do: nobody is held back for that.
      floors = InlineArray(repeating: .infinity)
      floors[Int(newest % 6)] = mean
      halvings = 0
      return set(exactBefore)
    }
    let most = min(exact, Double(open))
    // What is open waits in one line: with so many streams the mean would be under the bound.
    let next = isSlow && halvings == 1 ? most * 0.7 * bound / mean : most / 2
    set(max(Double(Self.lowest), isOverloaded ? min(next, most / 2) : next))
    isForLatency = !isOverloaded
    fellAt = now
  }

  /// The lowest mean of the last minutes, which that of a look may be.
  private mutating func floor(with mean: Double, now: UInt64) -> Double {
    let stretch = now / Self.stretch
    if stretch >= newest + 6 { newest = stretch - 6 }
    while newest < stretch {
      newest += 1
      floors[Int(newest % 6)] = .infinity
    }
    floors[Int(newest % 6)] = min(floors[Int(newest % 6)], mean)
    var floor = Double.infinity
    for index in 0..<6 { floor = min(floor, floors[index]) }
    return floor
  }

  /// - Parameter elapsed: seconds.
  private mutating func grow(
    _ elapsed: Double, _ open: Int, _ isWanted: Bool, isQuick: Bool = false
  ) {
    guard exact < .infinity else { return }
    // Nobody needs it any more: a later crowd begins with all streams, and is judged anew.
    if !isWanted, Double(open) < exact / 2 {
      if calmSince == 0 { calmSince = lookedAt }
      if lookedAt >= calmSince + Self.calm { set(.infinity) }
      return
    }
    let growth = isQuick ? Self.recovery : Self.growth
    var next = exact
    for _ in 0..<Int(elapsed) { next *= growth }
    next *= 1 + (growth - 1) * (elapsed - elapsed.rounded(.down))
    set(next)
  }

  private mutating func set(_ streams: Double) {
    calmSince = 0
    exact = streams < 1_000_000 ? streams : .infinity
  }
}
