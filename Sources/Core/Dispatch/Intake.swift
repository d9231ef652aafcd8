// SPDX-License-Identifier: Apache-2.0

package import APNS
package import Delivery
internal import Pipeline
import Random

/// How far a turn's intake is.
struct IntakeCursor: Sendable {
  enum Step: UInt8, Sendable {
    /// A lane is taken from the partition whose turn it is to the last one, then from the first one.
    case transactional, transactionalRest
    case retries
    case bulk, bulkRest
    case done
  }

  var step = Step.done
  /// The partition being looked at, or of retries its place among them.
  var position = 0
  /// Where this part of the partitions ends.
  var end = 0
  /// Records that there is room for.
  var room = 0
  /// Records that were asked for last.
  var asked = 0
  /// The retry partition being looked at was asked for what is due.
  var hasTakenDue = false
  /// Each turn begins with another partition, so that none is always last.
  var rotation = 0
  /// Kafka takes what a push may lead to: the producer has room, and retry topics have.
  var isProducerOpen = true
  var hasBrokerRoom = true
}

/// Which records are wanted: as many as there are streams and slots for.
extension Dispatcher {
  /// Records that may wait here for stream credit, so that a turn always finds some.
  private static let lookahead = 64
  /// Records taken from one partition before the next has its turn.
  package static let takeAtOnce = 64

  /// Records to be taken from a partition.
  package struct Take: Sendable, Equatable {
    package let partition: Int
    /// How many at most.
    package let count: Int
  }

  // MARK: Events

  /// A turn's intake begins: transactional first, then retries that are due, then bulk.
  ///
  /// - Parameter hasBrokerRoom: the topics that an answer may lead to have room. While they have not, only retries are
  ///   taken: that is what empties them.
  package mutating func beginIntake(hasBrokerRoom: Bool) {
    intake.step = .done
    intake.hasBrokerRoom = hasBrokerRoom
    guard isFeeding, !partitions.isEmpty else { return }
    if shares.isKnownStale { shares.counted(pools.served + credentials.unused) }
    shares.turn(free: freeSlots, canDivert: hasBrokerRoom, now: now)
    shed()
    if hasBrokerRoom { begin(.transactional) } else { beginRetries() }
  }

  /// What is to be taken next; `took` follows. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  package mutating func nextTake(isProducerOpen: Bool) -> Take? {
    intake.isProducerOpen = isProducerOpen
    while intake.step != .done {
      let take = intake.step == .retries ? nextRetry() : nextOfLane()
      if let take {
        intake.asked = take.count
        return take
      }
      advance()
    }
    return nil
  }

  /// So many records were taken of those that were asked for last, and told one by one.
  package mutating func took(_ count: Int) {
    let isRetry = intake.step == .retries
    if count < intake.asked {
      partitions.foundEmpty(isRetry ? partitions.retries[intake.position] : intake.position)
      if !isRetry { intake.position += 1 }
    }
    if !isRetry { intake.room -= count }
  }

  /// A partition's queue has records.
  package mutating func signalled(_ partition: Int) { partitions.signalled(partition) }

  /// Any partition's queue may have records.
  package mutating func signalledAll() { partitions.signalledAll() }

  /// A record comes: whether it is to be worked on. If so `accept` or `acceptUnreadable` follows.
  package mutating func admit(_ offset: Int64, from partition: Int) -> OffsetLedger.Admission {
    let admission = partitions[partition].admit(offset)
    if admission == .new { counts[.taken] += 1 }
    return admission
  }

  /// A record that an earlier assignment completed: a later one with its id is still a repeat.
  package mutating func remember(_ id: NotificationID, from partition: Int) {
    guard !partitions[partition].isRetry else { return }
    _ = partitions[partition].isFirst(id)
  }

  /// A record that is no notification: its owner writes a dead letter.
  ///
  /// - Returns: what the acknowledgement of that completes.
  package mutating func acceptUnreadable(_ offset: Int64, from partition: Int) -> Origin {
    counts[.deadLettered] += 1
    counts[.invalidRecords] += 1
    partitions.ended()
    return Origin(partition: Int32(partition), epoch: partitions.epoch, offset: offset)
  }

  /// Takes a notification in. Whatever it is, it ends in an outcome.
  ///
  /// - Parameter written: the record's timestamp, in milliseconds since the epoch.
  /// - Returns: its slot, in which the owner keeps its bytes until its end.
  package mutating func accept(
    _ facts: PushFacts, offset: Int64, from index: Int, written: Int64
  ) -> UInt32 {
    let slot = pushes.take(partitions[index].sendClass, earlier: facts.attempt)
    pushes[slot].fill(
      facts, Origin(partition: Int32(index), epoch: partitions.epoch, offset: offset),
      maxAge: settings.maxAge(facts.lane),
      kind: settings.gatewayKind(facts.environment, facts.target))
    if facts.waitedSince != 0 {
      pushes[slot].waitingSince = now - min(now, UInt64(max(0, wall - Int64(facts.waitedSince))))
    }
    let due =
      partitions[index].isRetry
      ? partitions.due(index, written: written, wall: wall, now: now, random: random.next()) : 0
    if !partitions.isFirst(facts.takenID, in: index) {
      finish(slot, .deduplicated, .repeatedID)
    } else if due > now {
      pushes[slot].life.putAside()
      partitions[index].notDue = (slot, due)
    } else {
      route(slot)
    }
    return slot
  }

  /// Kafka has what a push, or a record that was none, ended in.
  package mutating func acknowledged(_ origin: Origin) {
    partitions.acknowledged(origin)
  }

  /// Whether a turn right now would find records and room for them.
  package mutating func canTake(isProducerOpen: Bool, hasBrokerRoom: Bool) -> Bool {
    intake.isProducerOpen = isProducerOpen
    var rooms: InlineArray<3, Int> = [-1, -1, -1]
    var next = partitions.firstReady(in: partitions.indices)
    while let index = next {
      next = partitions.firstReady(in: index + 1..<partitions.indices.upperBound)
      guard hasBrokerRoom || partitions[index].isRetry, mayTake(from: index) else { continue }
      let sendClass = partitions[index].sendClass
      let place = Int(sendClass.rawValue)
      if rooms[place] < 0 { rooms[place] = room(for: sendClass) }
      if rooms[place] > 0 { return true }
    }
    return false
  }

  // MARK: Room

  /// How many records of a class there is room for now.
  ///
  /// Stream credit, beyond what waits already, is what pulls records in. A part of the slots is kept for the
  /// transactional class, as a part of the streams is.
  private mutating func room(for sendClass: SendClass) -> Int {
    guard isFeeding, !shares.isBlocked, intake.isProducerOpen,
      partitions.unacknowledged < settings.unacknowledgedAtMost
    else { return 0 }
    var free = freeSlots
    if sendClass != .transactional { free = min(free, settings.slotsForOthers - pushes.others) }
    guard free > 0 else { return 0 }
    // What waits for one destination must not keep the others' records in Kafka: `Fairness` bounds it.
    guard shares.fairness.isAlone else { return free }
    var demand = Self.lookahead
    for pool in pools.indices where !pools[pool].isRemoved {
      demand += pools[pool].demand(
        for: sendClass, credit: pools.credit(of: pool), capacity: pools.capacity(of: pool), now: now
      )
    }
    return min(free, demand)
  }

  /// Whether nothing of a partition forbids to take records of it.
  private mutating func mayTake(from index: Int) -> Bool {
    if case .lane(let lane) = partitions[index].feed, pauses.contains(lane) { return false }
    return partitions[index].notDue == nil && allowance(of: index) > 0
  }

  /// How many records may be taken from a partition now, as far as it alone is concerned.
  private mutating func allowance(of index: Int) -> Int {
    let allowance = partitions[index].allowance(
      reserve: shares.reserve)
    guard allowance > 0, shares.isPaused(index) else { return allowance }
    let left = partitions[index].allowance()
    return shares.staysPaused(index, free: freeSlots, left: left) ? 0 : allowance
  }

  // MARK: Whose turn it is

  private mutating func advance() {
    switch intake.step {
    case .transactional, .bulk:
      intake.step = intake.step == .bulk ? .bulkRest : .transactionalRest
      intake.end = partitions.isEmpty ? 0 : intake.rotation % partitions.indices.count
      intake.position = 0
    case .transactionalRest: beginRetries()
    case .retries: if intake.hasBrokerRoom { begin(.bulk) } else { intake.step = .done }
    case .bulkRest, .done: intake.step = .done
    }
  }

  private mutating func begin(_ lane: Lane) {
    intake.step = lane == .bulk ? .bulk : .transactional
    intake.rotation &+= 1
    intake.room = pauses.contains(lane) ? 0 : room(for: SendClass(lane))
    intake.position = intake.rotation % partitions.indices.count
    intake.end = partitions.indices.count
  }

  private mutating func beginRetries() {
    intake.step = .retries
    intake.position = 0
    intake.hasTakenDue = false
  }

  private mutating func nextOfLane() -> Take? {
    let lane: Lane =
      intake.step == .bulk || intake.step == .bulkRest ? .bulk : .transactional
    while intake.room > 0, !shares.isBlocked, intake.position < intake.end,
      let index = partitions.firstReady(in: intake.position..<intake.end)
    {
      intake.position = index
      if partitions[index].feed == .lane(lane), partitions[index].notDue == nil {
        // Half of what is left at a time: who crowds the partition is noticed before there is nothing left.
        let wanted = min(intake.room, Self.takeAtOnce, (allowance(of: index) + 1) / 2)
        if wanted > 0 { return Take(partition: index, count: wanted) }
      }
      intake.position += 1
    }
    return nil
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until its time comes.
  private mutating func nextRetry() -> Take? {
    while intake.position < partitions.retries.count {
      let index = partitions.retries[intake.position]
      if !intake.hasTakenDue {
        intake.hasTakenDue = true
        if let slot = partitions[index].takeDue(now) {
          pushes[slot].life.resume()
          route(slot)
        }
      }
      if partitions.isReady(index), mayTake(from: index), room(for: .retry) > 0 {
        return Take(partition: index, count: 1)
      }
      intake.position += 1
      intake.hasTakenDue = false
    }
    return nil
  }
}
