// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// Records to be taken from a partition.
public struct ReadRequest: Sendable, Equatable {
  public let partition: Int
  /// The most records to take.
  public let count: Int
}

/// Which partitions may have records, and how far a turn's intake is.
struct Intake: Sendable {
  /// Records that may wait here for stream credit, so that a turn always finds some.
  fileprivate static let lookahead = 64

  /// The partitions whose queues may have records: signalled, and not found empty since. What is asked in every
  /// turn is asked of these: a partition is large, and some hundred of them cost more than the pushes of a turn.
  fileprivate(set) var ready = ReadySet()
  /// The class whose partitions are being looked at, in their order; nil when all are done.
  fileprivate(set) var sendClass: SendClass?
  /// A lane is taken from the partition whose turn it is to the last one, then from the first one: whether it is the
  /// second part's turn.
  fileprivate(set) var isRest = false
  /// The partition being looked at, or of retries its place among them.
  fileprivate(set) var position = 0
  /// The end of this part of the partitions.
  fileprivate(set) var end = 0
  /// Records that there is room for.
  fileprivate(set) var room = 0
  /// Records that were asked for last.
  fileprivate(set) var asked = 0
  /// The retry partition being looked at was asked for what is due.
  fileprivate(set) var hasTakenDue = false
  /// Each turn begins with another partition, so that none is always last.
  fileprivate(set) var rotation = 0
  /// Kafka takes what a push may lead to: the producer has room.
  fileprivate(set) var isProducerOpen = true
  /// Pools or credentials came or went since the destinations were counted.
  var areDestinationsStale = true
}

/// Which records are wanted: as many as there are streams and slots for.
extension Dispatcher {
  // MARK: Which partitions have records

  /// A partition's queue has records. The number may be left of an earlier assignment: then a queue is looked at in
  /// vain.
  public mutating func signalled(_ partition: Int) {
    if partition < work.partitions.indices.upperBound { intake.ready.insert(partition) }
  }

  /// Any partition's queue may have records.
  public mutating func signalledAll() {
    intake.ready.insertAll(below: work.partitions.indices.upperBound)
  }

  /// Records wait, if not for room then for their turn.
  public var hasReady: Bool { intake.ready.first(in: work.partitions.indices) != nil }

  /// True if a turn right now would find records and room for them.
  public mutating func canTake(isProducerOpen: Bool) -> Bool {
    intake.isProducerOpen = isProducerOpen
    var rooms = ByClass(repeating: -1)
    var next = intake.ready.first(in: work.partitions.indices)
    while let index = next {
      next = intake.ready.first(in: index + 1..<work.partitions.indices.upperBound)
      guard mayTake(from: index) else { continue }
      let sendClass = work.partitions[index].sendClass
      let place = Int(sendClass.place)
      if rooms[place] < 0 { rooms[place] = room(for: sendClass) }
      if rooms[place] > 0 { return true }
    }
    return false
  }

  // MARK: A turn's intake

  /// A turn's intake begins: the first lane, then retries that are due, then the other lanes.
  public mutating func beginIntake() {
    intake.sendClass = nil
    guard work.partitions.isFeeding, !work.partitions.isEmpty else { return }
    let known = intake.areDestinationsStale ? pools.served + credentials.unused : nil
    intake.areDestinationsStale = false
    work.beginIntake(known: known)
    shed()
    beginIntake(of: .first)
  }

  /// The records to take next; `took` follows. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  public mutating func nextReadRequest(isProducerOpen: Bool) -> ReadRequest? {
    intake.isProducerOpen = isProducerOpen
    while let sendClass = intake.sendClass {
      let request = if let lane = sendClass.lane { nextRead(of: lane) } else { nextRetry() }
      if let request {
        intake.asked = request.count
        return request
      }
      leave(sendClass)
    }
    return nil
  }

  /// So many records were taken of those that were asked for last, and told one by one.
  public mutating func took(_ count: Int) {
    let isRetry = intake.sendClass == .retry
    if !isRetry { intake.room -= count }
    guard count < intake.asked else { return }
    if isRetry {
      intake.ready.remove(work.partitions.retries[intake.position])
    } else {
      intake.ready.remove(intake.position)
      intake.position += 1
    }
  }

  // MARK: Room

  /// The number of records of a class for which there is room now.
  ///
  /// Stream credit, beyond what waits already, is what pulls records in.
  private mutating func room(for sendClass: SendClass) -> Int {
    guard work.partitions.isFeeding, !work.shares.isBlocked, intake.isProducerOpen else { return 0 }
    // Kafka is so far behind in acknowledging outcomes that nothing more is taken.
    if work.unacknowledged >= settings.unacknowledgedAtMost { return 0 }
    // Lanes reserve a part of all slots, as they do of the streams.
    var free = work.laneShares.room(
      for: sendClass, of: settings.maxInFlight, open: work.pushes.byClass)
    if work.paces.isInForce, let lane = sendClass.lane, let room = work.paces.room(of: lane) {
      free = min(free, room)
    }
    guard free > 0 else { return 0 }
    // What waits for one destination must not keep the others' records in Kafka: `Fairness` bounds it.
    guard work.shares.fairness.isAlone else { return free }
    // What waits with a key is superseded by what is read: it does not count, up to half of the slots.
    let states = min(work.pushes.waitingKeyed[Int(sendClass.place)], settings.maxInFlight / 2)
    let demand = pools.demand(for: sendClass, now: work.turn.now)
    return min(free, Intake.lookahead + demand + states)
  }

  /// True if nothing forbids taking records of a partition.
  private mutating func mayTake(from index: Int) -> Bool {
    if work.partitions[index].hasEarly { return false }
    return work.allowance(of: index) > 0
  }

  // MARK: Whose turn it is

  /// All partitions of a class, or the first part of them, have been looked at.
  private mutating func leave(_ sendClass: SendClass) {
    if sendClass.lane != nil, !intake.isRest {
      intake.isRest = true
      let count = work.partitions.indices.count
      intake.end = count == 0 ? 0 : intake.rotation % count
      intake.position = 0
    } else if let next = work.laneShares.next(after: sendClass) {
      beginIntake(of: next)
    } else {
      intake.sendClass = nil
    }
  }

  private mutating func beginIntake(of sendClass: SendClass) {
    intake.sendClass = sendClass
    intake.isRest = false
    intake.hasTakenDue = false
    intake.position = 0
    guard sendClass.lane != nil else { return }
    intake.rotation &+= 1
    intake.room = room(for: sendClass)
    intake.position = intake.rotation % work.partitions.indices.count
    intake.end = work.partitions.indices.count
  }

  private mutating func nextRead(of lane: Lane) -> ReadRequest? {
    while intake.room > 0, !work.shares.isBlocked, intake.position < intake.end,
      let index = intake.ready.first(in: intake.position..<intake.end)
    {
      intake.position = index
      if work.partitions[index].topicKind == .lane(lane), !work.partitions[index].hasEarly {
        // Half of what is left at a time: who crowds the partition is noticed before there is nothing left.
        // Of a paused lane the head alone: it is kept, and shows how long the lane has waited.
        let most = work.pauses.contains(lane) ? 1 : Self.takeAtOnce
        let wanted = min(intake.room, most, (work.allowance(of: index) + 1) / 2)
        if wanted > 0 { return ReadRequest(partition: index, count: wanted) }
      }
      intake.position += 1
    }
    return nil
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until its time comes.
  private mutating func nextRetry() -> ReadRequest? {
    while intake.position < work.partitions.retries.count {
      let index = work.partitions.retries[intake.position]
      if !intake.hasTakenDue {
        intake.hasTakenDue = true
        if let slot = work.popDue(of: index) { route(slot) }
      }
      if intake.ready.contains(index), mayTake(from: index), room(for: .retry) > 0 {
        return ReadRequest(partition: index, count: 1)
      }
      intake.position += 1
      intake.hasTakenDue = false
    }
    return nil
  }
}
