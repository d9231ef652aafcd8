// SPDX-License-Identifier: Apache-2.0

public import Contract

/// What each destination holds of one loop's slots, whether it makes progress, and so what becomes of the next
/// record for it.
///
/// A destination is what pushes wait for together: the connections of one credential to one gateway, or, for those
/// that no credential serves, the credential (`noCredential`). All have the same rules:
///
/// * **Bound.** One may hold at most twice as many slots as are free (dynamic thresholds, Choudhury and Hahne 1998).
///   A greedy one ends with two thirds, n of them that grow together leave 1/(2n + 1), and nobody needs to know how many
///   there are. One that came first holds more until its pushes end, for slots are never taken away.
/// * **Saturated is not stuck.** A Kafka partition is first in, first out: who leaves one destination's record there
///   keeps everybody's records behind it waiting. A destination at its bound that answers stops the intake
///   until answers make room: the rest waits in Kafka, however long that takes.
/// * **Stuck** is one that has had pushes in slots for `patience` without an answer about any of them. What comes for it
///   beyond its bound is moved to a retry topic, unsent and without counting an attempt, until its next answer; unless
///   every destination that is known is stuck. Then the gateway is out, nobody would gain, and everything waits in
///   Kafka.
/// * **Two thirds** are the most that a stuck one keeps. Each time that nobody can say whether another destination works,
///   or retry topics have no room, one over its bound takes a few records more; these are moved aside as soon as records
///   are (`crowded`), or it would have all slots in the end.
/// * **Partitions** have a bound of their own. While no destination is stuck their last eighth stays free. A stuck one
///   opens it for reading past what is its: nothing of a stuck destination enters it, and each of the others may have
///   as much open as is left.
///
/// It is told every event and never asks all destinations for each turn. Times are monotonic milliseconds.
public struct Fairness: Sendable {
  /// What to do with the next record of a destination.
  public enum Decision: UInt8, Sendable, Equatable {
    /// Take it.
    case take
    /// Take it, and nothing more from Kafka until this destination holds less.
    case wait
    /// Take it, and nothing more from its partition until this destination has less open of it.
    case pause
    /// Move it to a retry topic.
    case divert
  }

  /// How long a destination may hold pushes without an answer before it counts as stuck: longer than a connection takes to
  /// be made, and than any answer of a gateway that works.
  public static let patience: UInt64 = 2_000
  /// Another destination works if it answered within this time: one that fell silent together with the others does not.
  public static let recent: UInt64 = 1_000
  /// Slots that every destination may hold, unless that is more than a third of all.
  public static let least = 64
  /// The destination of pushes that no credential serves. The others have numbers above it.
  public static let noCredential = 0
  /// Between two looks for destinations that have become stuck.
  private static let lookInterval: UInt64 = 20
  /// What one turn counts at most. A process that was stopped for a minute has not waited for answers that long.
  public static let longestTurn: UInt64 = 250

  private struct Destination: Sendable {
    var taken = 0
    /// When it answered last, or began to hold something.
    var answeredAt: UInt64 = 0
    var isStuck = false
    /// It is in `inUse`.
    var isListed = false
  }

  /// Slots that every destination may hold, and those that a stuck one keeps.
  private let least: Int
  private let most: Int
  private var destinations = [Destination()]
  /// Those that hold something, and some that did until a moment ago.
  private var inUse: [Int] = []
  /// The time that this loop was awake, in milliseconds.
  private var awake: UInt64 = 0
  private var turnedAt: UInt64?
  private var nextLook: UInt64 = 0
  private var known = 0
  /// Destinations that are stuck.
  public private(set) var stuck = 0
  /// A destination is stuck while another one works or might: what comes for it is moved aside.
  public private(set) var isDiverting = false
  /// A stuck destination that holds more than it keeps.
  private var crowding: Int?

  /// - Parameter slots: of the loop, at least 1.
  public init(slots: Int) {
    least = max(1, min(Self.least, slots / 3))
    most = max(least, 2 * slots / 3)
  }

  /// The slots that one destination may hold when so many are free.
  public func bound(free: Int) -> Int { max(least, 2 * max(0, free)) }

  /// A stuck destination that holds more than two thirds of the slots while records are moved aside, and how many it is
  /// to give up.
  public var crowded: (destination: Int, surplus: Int)? {
    guard isDiverting, let crowding, destinations[crowding].isStuck else { return nil }
    let surplus = destinations[crowding].taken - most
    return surplus > 0 ? (crowding, surplus) : nil
  }

  /// The slots that a destination holds.
  public func taken(by destination: Int) -> Int {
    destination < destinations.count ? destinations[destination].taken : 0
  }

  // MARK: Events

  /// A turn begins.
  ///
  /// - Parameters:
  ///   - known: destinations that pushes may be for, whether they hold any or not; `noCredential` does not count.
  ///   - now: monotonic milliseconds.
  public mutating func turn(known: Int, now: UInt64) {
    awake += min(now - (turnedAt ?? now), Self.longestTurn)
    turnedAt = now
    guard awake >= nextLook || known != self.known else { return }
    nextLook = awake + Self.lookInterval
    self.known = known
    look()
  }

  /// A push of the destination takes a slot.
  public mutating func took(_ destination: Int) {
    while destinations.count <= destination { destinations.append(Destination()) }
    destinations[destination].taken += 1
    guard destinations[destination].taken == 1 else { return }
    destinations[destination].answeredAt = awake
    guard !destinations[destination].isListed else { return }
    destinations[destination].isListed = true
    inUse.append(destination)
  }

  /// A push of the destination gives its slot back.
  public mutating func freed(_ destination: Int) {
    destinations[destination].taken -= 1
    precondition(destinations[destination].taken >= 0, "a slot was given back that was not taken")
    if destinations[destination].taken == 0 { recovered(destination) }
  }

  /// A destination answered about a push; or, for `noCredential`, a credential came.
  public mutating func answered(_ destination: Int) {
    guard destination < destinations.count else { return }
    destinations[destination].answeredAt = awake
    if destinations[destination].isStuck { recovered(destination) }
  }

  private mutating func recovered(_ destination: Int) {
    guard destinations[destination].isStuck else { return }
    destinations[destination].isStuck = false
    stuck -= 1
    if stuck == 0 { isDiverting = false }
  }

  /// Finds who has become stuck, and whether anybody gains if what is theirs is moved aside.
  private mutating func look() {
    var holding = 0
    var others = false
    inUse.removeAll { destination in
      guard destinations[destination].taken > 0 else {
        destinations[destination].isListed = false
        return true
      }
      let silence = awake - destinations[destination].answeredAt
      if silence >= Self.patience, !destinations[destination].isStuck {
        destinations[destination].isStuck = true
        stuck += 1
      }
      guard destination != Self.noCredential else { return false }
      holding += 1
      if silence < Self.recent { others = true }
      return false
    }
    isDiverting = stuck > 0 && (others || known > holding)
    crowding =
      isDiverting
      ? inUse.first { destinations[$0].isStuck && destinations[$0].taken > most } : nil
  }

  // MARK: Decisions

  /// Whether there is nobody else who could be kept waiting.
  public var isAlone: Bool { known <= 1 && destinations[Self.noCredential].taken == 0 }

  /// How many of the records that one partition may have open are kept for reading past stuck destinations now.
  ///
  /// - Parameter most: how many may be open.
  public func reserve(of most: Int) -> Int { isAlone || isDiverting ? 0 : most / 8 }

  /// What becomes of a record as far as slots are concerned; to be asked for each.
  ///
  /// - Parameter free: slots that nobody holds.
  public func decide(_ destination: Int, free: Int) -> Decision {
    let taken = taken(by: destination)
    // The usual case costs one comparison.
    if taken < least || taken < bound(free: free) || isAlone { return .take }
    return isMovedAside(destination) ? .divert : .wait
  }

  /// The same for a record of a partition that somebody stuck may have filled; to be asked while `isDiverting`.
  ///
  /// - Parameters:
  ///   - free: slots that nobody holds.
  ///   - open: records of its partition that are open for the destination.
  ///   - left: how many more of that partition may be open in all.
  ///   - most: how many of that partition may be open.
  public func decide(
    _ destination: Int, free: Int, open: Int, left: Int, of most: Int
  ) -> Decision {
    let decision = decide(destination, free: free)
    guard decision == .take, isDiverting, left < most / 8 else { return decision }
    if isMovedAside(destination) { return .divert }
    return open >= left ? .pause : .take
  }

  private func isMovedAside(_ destination: Int) -> Bool {
    isDiverting && destination < destinations.count && destinations[destination].isStuck
  }

  /// The retry topic for a record that is moved unsent: soon while it is young, so that a short trouble
  /// costs little time; once a minute later, so that a long one costs little work.
  ///
  /// - Parameter age: milliseconds since the request was made.
  public static func tier(age: Int64) -> RetryTier {
    age < RetryTier.shortest.next.delay ? .shortest : .shortest.next
  }
}

/// How many records of one partition are open for each destination.
public struct OpenByDestination: Sendable {
  private var counts: [UInt32] = []

  public init() {}

  public subscript(destination: Int) -> Int {
    destination < counts.count ? Int(counts[destination]) : 0
  }

  public mutating func add(_ destination: Int) {
    while counts.count <= destination { counts.append(0) }
    counts[destination] += 1
  }

  public mutating func remove(_ destination: Int) { counts[destination] -= 1 }
}
