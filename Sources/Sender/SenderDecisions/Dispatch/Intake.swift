// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// Records to be taken from a partition.
public struct ReadRequest: Sendable, Equatable {
  public let partition: Int
  /// The most records to take.
  public let count: Int
}

/// Which records are wanted, and how far a turn's intake is: as many as there are streams and slots for.
struct Intake: Sendable {
  /// Records that may wait here for stream credit, so that a turn always finds some.
  private static let lookahead = 64

  /// The class whose partitions are being looked at, in their order; nil when all are done.
  private var sendClass: SendClass?
  /// A lane is taken from the partition whose turn it is to the last one, then from the first one: whether it is the
  /// second part's turn.
  private var isRest = false
  /// The partition being looked at, or of retries its place among them.
  private var position = 0
  /// The end of this part of the partitions.
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

  /// A turn's intake begins: the first lane, then retries that are due, then the other lanes.
  mutating func begin(
    _ destinations: inout Destinations, _ work: inout Workload
  ) {
    sendClass = nil
    guard work.partitions.isFeeding, !work.partitions.isEmpty else { return }
    let known = work.shares.isKnownStale ? destinations.count : nil
    work.beginIntake(known: known)
    destinations.shed(&work)
    begin(.first, &destinations, work)
  }

  /// The records to take next. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  mutating func next(
    isProducerOpen: Bool, _ destinations: inout Destinations, _ work: inout Workload
  ) -> ReadRequest? {
    self.isProducerOpen = isProducerOpen
    while let sendClass {
      let take =
        if let lane = sendClass.lane { next(of: lane, &work) } else {
          nextRetry(&destinations, &work)
        }
      if let take {
        asked = take.count
        return take
      }
      advance(&destinations, work)
    }
    return nil
  }

  /// So many records were taken of those that were asked for last.
  ///
  /// - Returns: the partition if it has no more.
  mutating func took(_ count: Int, _ partitions: borrowing Partitions) -> Int? {
    let isRetry = sendClass == .retry
    if !isRetry { room -= count }
    guard count < asked else { return nil }
    guard !isRetry else { return partitions.retries[position] }
    defer { position += 1 }
    return position
  }

  /// True if a turn right now would find records and room for them.
  mutating func canTake(
    isProducerOpen: Bool, _ destinations: inout Destinations, _ work: inout Workload
  ) -> Bool {
    self.isProducerOpen = isProducerOpen
    var rooms = ByClass(repeating: -1)
    var next = work.partitions.firstReady(in: work.partitions.indices)
    while let index = next {
      next = work.partitions.firstReady(in: index + 1..<work.partitions.indices.upperBound)
      guard mayTake(from: index, &work) else { continue }
      let sendClass = work.partitions[index].sendClass
      let place = Int(sendClass.place)
      if rooms[place] < 0 { rooms[place] = room(for: sendClass, &destinations, work) }
      if rooms[place] > 0 { return true }
    }
    return false
  }

  // MARK: Room

  /// The number of records of a class for which there is room now.
  ///
  /// Stream credit, beyond what waits already, is what pulls records in.
  private func room(
    for sendClass: SendClass, _ destinations: inout Destinations, _ work: borrowing Workload
  ) -> Int {
    guard work.partitions.isFeeding, !work.shares.isBlocked, isProducerOpen, !work.isBehind else {
      return 0
    }
    var free = work.freeSlots(for: sendClass)
    if work.paces.isInForce, let lane = sendClass.lane, let room = work.paces.room(of: lane) {
      free = min(free, room)
    }
    guard free > 0 else { return 0 }
    // What waits for one destination must not keep the others' records in Kafka: `Fairness` bounds it.
    guard work.shares.fairness.isAlone else { return free }
    // What waits with a key is superseded by what is read: it does not count, up to half of the slots.
    let states = min(work.pushes.waitingKeyed[Int(sendClass.place)], work.settings.maxInFlight / 2)
    let demand = destinations.demand(for: sendClass, now: work.turn.now)
    return min(free, Self.lookahead + demand + states)
  }

  /// True if nothing forbids taking records of a partition.
  private func mayTake(from index: Int, _ work: inout Workload) -> Bool {
    !work.partitions[index].hasEarly && work.allowance(of: index) > 0
  }

  // MARK: Whose turn it is

  private mutating func advance(
    _ destinations: inout Destinations, _ work: borrowing Workload
  ) {
    guard let sendClass else { return }
    if sendClass.lane != nil, !isRest {
      isRest = true
      end = work.partitions.isEmpty ? 0 : rotation % work.partitions.indices.count
      position = 0
    } else if let next = work.laneShares.next(after: sendClass) {
      begin(next, &destinations, work)
    } else {
      self.sendClass = nil
    }
  }

  private mutating func begin(
    _ sendClass: SendClass, _ destinations: inout Destinations, _ work: borrowing Workload
  ) {
    self.sendClass = sendClass
    isRest = false
    hasTakenDue = false
    position = 0
    guard sendClass.lane != nil else { return }
    rotation &+= 1
    room = room(for: sendClass, &destinations, work)
    position = rotation % work.partitions.indices.count
    end = work.partitions.indices.count
  }

  private mutating func next(of lane: Lane, _ work: inout Workload) -> ReadRequest? {
    while room > 0, !work.shares.isBlocked, position < end,
      let index = work.partitions.firstReady(in: position..<end)
    {
      position = index
      if work.partitions[index].topicKind == .lane(lane), !work.partitions[index].hasEarly {
        // Half of what is left at a time: who crowds the partition is noticed before there is nothing left.
        // Of a paused lane the head alone: it is kept, and shows how long the lane has waited.
        let most = work.pauses.contains(lane) ? 1 : Dispatcher.takeAtOnce
        let wanted = min(room, most, (work.allowance(of: index) + 1) / 2)
        if wanted > 0 { return ReadRequest(partition: index, count: wanted) }
      }
      position += 1
    }
    return nil
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until its time comes.
  private mutating func nextRetry(
    _ destinations: inout Destinations, _ work: inout Workload
  ) -> ReadRequest? {
    while position < work.partitions.retries.count {
      let index = work.partitions.retries[position]
      if !hasTakenDue {
        hasTakenDue = true
        if let slot = work.popDue(of: index) { destinations.route(slot, &work) }
      }
      if work.partitions.isReady(index), mayTake(from: index, &work),
        room(for: .retry, &destinations, work) > 0
      {
        return ReadRequest(partition: index, count: 1)
      }
      position += 1
      hasTakenDue = false
    }
    return nil
  }
}
