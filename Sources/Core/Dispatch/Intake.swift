// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import Pipeline

/// Records to be taken from a partition.
public struct Take: Sendable, Equatable {
  public let partition: Int
  /// How many at most.
  public let count: Int
}

/// Which records are wanted, and how far a turn's intake is: as many as there are streams and slots for.
struct Intake: Sendable {
  /// Records that may wait here for stream credit, so that a turn always finds some.
  private static let lookahead = 64

  private enum Step: UInt8, Sendable {
    /// A lane is taken from the partition whose turn it is to the last one, then from the first one.
    case transactional, transactionalRest
    case retries
    case bulk, bulkRest
    case done
  }

  private var step = Step.done
  /// The partition being looked at, or of retries its place among them.
  private var position = 0
  /// Where this part of the partitions ends.
  private var end = 0
  /// Records that there is room for.
  private var room = 0
  /// Records that were asked for last.
  private var asked = 0
  /// The retry partition being looked at was asked for what is due.
  private var hasTakenDue = false
  /// Each turn begins with another partition, so that none is always last.
  private var rotation = 0
  /// Kafka takes what a push may lead to: the producer has room.
  private var isProducerOpen = true

  // MARK: Events

  /// A turn's intake begins: transactional first, then retries that are due, then bulk.
  mutating func begin(
    _ destinations: inout Destinations, _ work: inout Workload, _ turn: inout Turn
  ) {
    step = .done
    guard work.partitions.isFeeding, !work.partitions.isEmpty else { return }
    if work.shares.isKnownStale { work.shares.counted(destinations.count) }
    work.shares.turn(free: work.freeSlots, now: turn.now)
    destinations.shed(&work, &turn)
    begin(.transactional, &destinations, &work, now: turn.now)
  }

  /// What is to be taken next. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  mutating func next(
    isProducerOpen: Bool, _ destinations: inout Destinations, _ work: inout Workload,
    _ turn: inout Turn
  ) -> Take? {
    self.isProducerOpen = isProducerOpen
    while step != .done {
      let take =
        step == .retries ? nextRetry(&destinations, &work, &turn) : nextOfLane(&work)
      if let take {
        asked = take.count
        return take
      }
      advance(&destinations, &work, now: turn.now)
    }
    return nil
  }

  /// So many records were taken of those that were asked for last.
  mutating func took(_ count: Int, _ partitions: inout Partitions) {
    let isRetry = step == .retries
    if count < asked {
      partitions.foundEmpty(isRetry ? partitions.retries[position] : position)
      if !isRetry { position += 1 }
    }
    if !isRetry { room -= count }
  }

  /// Whether a turn right now would find records and room for them.
  mutating func canTake(
    isProducerOpen: Bool, _ destinations: inout Destinations, _ work: inout Workload, now: UInt64
  ) -> Bool {
    self.isProducerOpen = isProducerOpen
    var rooms: InlineArray<3, Int> = [-1, -1, -1]
    var next = work.partitions.firstReady(in: work.partitions.indices)
    while let index = next {
      next = work.partitions.firstReady(in: index + 1..<work.partitions.indices.upperBound)
      guard mayTake(from: index, &work) else { continue }
      let sendClass = work.partitions[index].sendClass
      let place = Int(sendClass.rawValue)
      if rooms[place] < 0 { rooms[place] = room(for: sendClass, &destinations, work, now: now) }
      if rooms[place] > 0 { return true }
    }
    return false
  }

  // MARK: Room

  /// How many records of a class there is room for now.
  ///
  /// Stream credit, beyond what waits already, is what pulls records in.
  private func room(
    for sendClass: SendClass, _ destinations: inout Destinations, _ work: borrowing Workload,
    now: UInt64
  ) -> Int {
    guard work.partitions.isFeeding, !work.shares.isBlocked, isProducerOpen, !work.isBehind else {
      return 0
    }
    let free = work.freeSlots(for: sendClass)
    guard free > 0 else { return 0 }
    // What waits for one destination must not keep the others' records in Kafka: `Fairness` bounds it.
    guard work.shares.fairness.isAlone else { return free }
    return min(free, Self.lookahead + destinations.pools.demand(for: sendClass, now: now))
  }

  /// Whether nothing of a partition forbids to take records of it.
  private func mayTake(from index: Int, _ work: inout Workload) -> Bool {
    !work.partitions[index].hasEarly && work.allowance(of: index) > 0
  }

  // MARK: Whose turn it is

  private mutating func advance(
    _ destinations: inout Destinations, _ work: inout Workload, now: UInt64
  ) {
    switch step {
    case .transactional, .bulk:
      step = step == .bulk ? .bulkRest : .transactionalRest
      end = work.partitions.isEmpty ? 0 : rotation % work.partitions.indices.count
      position = 0
    case .transactionalRest:
      step = .retries
      position = 0
      hasTakenDue = false
    case .retries: begin(.bulk, &destinations, &work, now: now)
    case .bulkRest, .done: step = .done
    }
  }

  private mutating func begin(
    _ lane: Lane, _ destinations: inout Destinations, _ work: inout Workload, now: UInt64
  ) {
    step = lane == .bulk ? .bulk : .transactional
    rotation &+= 1
    room = room(for: SendClass(lane), &destinations, work, now: now)
    position = rotation % work.partitions.indices.count
    end = work.partitions.indices.count
  }

  private mutating func nextOfLane(_ work: inout Workload) -> Take? {
    let lane: Lane = step == .bulk || step == .bulkRest ? .bulk : .transactional
    while room > 0, !work.shares.isBlocked, position < end,
      let index = work.partitions.firstReady(in: position..<end)
    {
      position = index
      if work.partitions[index].feed == .lane(lane), !work.partitions[index].hasEarly {
        // Half of what is left at a time: who crowds the partition is noticed before there is nothing left.
        // Of a paused lane the head alone: it is kept, and shows how long the lane has waited.
        let most = work.pauses.contains(lane) ? 1 : Dispatcher.takeAtOnce
        let wanted = min(room, most, (work.allowance(of: index) + 1) / 2)
        if wanted > 0 { return Take(partition: index, count: wanted) }
      }
      position += 1
    }
    return nil
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until its time comes.
  private mutating func nextRetry(
    _ destinations: inout Destinations, _ work: inout Workload, _ turn: inout Turn
  ) -> Take? {
    while position < work.partitions.retries.count {
      let index = work.partitions.retries[position]
      if !hasTakenDue {
        hasTakenDue = true
        if let slot = work.takeDue(of: index, now: turn.now) {
          destinations.route(slot, &work, &turn)
        }
      }
      if work.partitions.isReady(index), mayTake(from: index, &work),
        room(for: .retry, &destinations, work, now: turn.now) > 0
      {
        return Take(partition: index, count: 1)
      }
      position += 1
      hasTakenDue = false
    }
    return nil
  }
}
