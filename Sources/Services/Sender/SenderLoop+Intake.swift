// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import HTTP2
import Kafka
import Pipeline
import ServiceKit

/// Records come in: out of Kafka's queues, checked, into slots, in line for a connection.
extension SenderLoop {
  /// How many records of a class there is room for now.
  ///
  /// Stream credit, beyond what waits already, is what pulls records in. A part of the slots is kept for the
  /// transactional class, as a part of the streams is.
  private func room(for sendClass: SendClass) -> Int {
    guard isFeeding, heldUpBy == nil, !producer.isFull, blockedSides.isEmpty, now >= refusedUntil,
      unacknowledged < unacknowledgedAtMost,
      producer.outstandingBytes < Self.unacknowledgedBytesAtMost
    else { return 0 }
    var free = settings.maxInFlight - pushes.count
    if sendClass != .transactional { free = min(free, slotsForOthers - pushes.others) }
    guard free > 0 else { return 0 }
    // What waits for one destination must not keep the others' records in Kafka: `Fairness` bounds it.
    guard fairness.isAlone else { return free }
    var demand = Self.lookahead
    for pool in pools {
      guard let pool else { continue }
      demand += pool.waiting.demand(
        for: sendClass, credit: pool.credit, capacity: pool.capacity, now: now)
    }
    return min(free, demand)
  }

  /// Outcomes and other records that Kafka has not acknowledged yet.
  private var unacknowledged: Int { receipts.unacknowledged + sides.count }

  /// Whether a turn right now would find records and room for them.
  var canTakeMore: Bool {
    let lanes = mayFillSides
    var rooms: InlineArray<3, Int> = [-1, -1, -1]
    var next = readyPartitions.first(in: partitions.indices)
    while let index = next {
      next = readyPartitions.first(in: index + 1..<partitions.count)
      guard lanes || partitions[index].isRetry, mayTake(from: index) else { continue }
      let sendClass = partitions[index].sendClass
      let place = Int(sendClass.rawValue)
      if rooms[place] < 0 { rooms[place] = room(for: sendClass) }
      if rooms[place] > 0 { return true }
    }
    return false
  }

  /// When the next held retry is due, in monotonic milliseconds.
  var nextRetryDue: UInt64? {
    var next = UInt64.max
    for index in retryPartitions { next = min(next, partitions[index].heldDue) }
    return next == .max ? nil : next
  }

  /// Takes what there is room for: transactional first, then retries that are due, then bulk.
  ///
  /// While the retry or feedback topics of the embedded broker are full only retries are taken: that is what
  /// empties them.
  func intake() {
    guard isFeeding, !partitions.isEmpty else { return }
    let lanes = mayFillSides
    reviewFairness(canDivert: lanes)
    if lanes { takeLane(.transactional) }
    takeRetries()
    if lanes { takeLane(.bulk) }
  }

  /// Whether the embedded broker has room for what an answer may lead to.
  private var mayFillSides: Bool { holdBack?.isOpen(outstandingBytes: 0) ?? true }

  /// Whether nothing of a partition forbids to take records of it.
  private func mayTake(from index: Int) -> Bool {
    partitions[index].held == nil && allowance(of: index) > 0
  }

  private func takeLane(_ lane: Lane) {
    let sendClass = SendClass(lane)
    var room = self.room(for: sendClass)
    guard room > 0 else { return }
    // Each turn begins with another partition, so that none is always last.
    nextLane &+= 1
    let first = nextLane % partitions.count
    takeLane(lane, in: first..<partitions.count, &room)
    takeLane(lane, in: 0..<first, &room)
  }

  private func takeLane(_ lane: Lane, in part: Range<Int>, _ room: inout Int) {
    var next = readyPartitions.first(in: part)
    while let index = next, room > 0, heldUpBy == nil {
      next = readyPartitions.first(in: index + 1..<part.upperBound)
      guard case .lane(lane) = partitions[index].feed, mayTake(from: index) else { continue }
      room -= take(from: index, upTo: room)
    }
  }

  private func take(from index: Int, upTo room: Int) -> Int {
    var total = 0
    while total < room, heldUpBy == nil {
      // Half of what is left at a time: who crowds the partition is noticed before there is nothing left.
      let left = (allowance(of: index) + 1) / 2
      let wanted = min(room - total, Self.takeAtOnce, left)
      if wanted == 0 { break }
      let taken = partitions[index].queue.take(into: &batch, upTo: wanted)
      for position in 0..<taken { accept(batch[position], from: index) }
      batch.release()
      total += taken
      if taken < wanted {
        readyPartitions.remove(index)
        break
      }
    }
    return total
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until its time comes.
  private func takeRetries() {
    for index in retryPartitions {
      if let slot = partitions[index].takeDue(now) {
        pushes[slot].pointee.life.resume()
        route(slot)
      }
      while readyPartitions.contains(index), mayTake(from: index), room(for: .retry) > 0 {
        takeRetry(from: index)
      }
    }
  }

  private func takeRetry(from index: Int) {
    guard partitions[index].queue.take(into: &batch, upTo: 1) == 1 else {
      return readyPartitions.remove(index)
    }
    let record = batch[0]
    let due =
      partitions[index].pacing?.release(
        written: record.timestamp, wall: wall, now: now, random: random.next()) ?? 0
    accept(record, from: index, notBefore: due)
    batch.release()
  }

  /// Takes one record in. Whatever it is, it ends in an outcome.
  private func accept(_ record: KafkaRecord, from index: Int, notBefore due: UInt64 = 0) {
    if let error = record.error {
      context.log.warning("kafka", ["partition": "\(partitions[index].name)", "error": "\(error)"])
      return
    }
    switch partitions[index].admit(record.offset) {
    case .new: break
    case .alreadyCompleted: return remember(record, from: index)
    case .alreadyReceived: return
    }
    counters.add(.taken)
    let origin = Origin(
      partition: Int32(index), epoch: epochOfPartitions, offset: record.offset)
    let envelope: Envelope
    do throws(UnsendableRecord) {
      envelope = try record.envelope()
    } catch {
      return deadLetter(record, origin, detail: error.detail)
    }
    let slot = store(record, envelope, origin, partitions[index].sendClass)
    guard partitions[index].isFirst(envelope.takenID) else {
      return finish(slot, .deduplicated)
    }
    if due > now {
      pushes[slot].pointee.life.putAside()
      partitions[index].held = (slot, due)
    } else {
      route(slot)
    }
  }

  /// A record that an earlier assignment completed: a later one with its id is still a repeat.
  private func remember(_ record: KafkaRecord, from index: Int) {
    guard !partitions[index].isRetry, let envelope = try? record.envelope() else { return }
    _ = partitions[index].isFirst(envelope.takenID)
  }

  /// Copies a record into a slot; the record's own memory can go.
  private func store(
    _ record: KafkaRecord, _ envelope: Envelope, _ origin: Origin, _ sendClass: SendClass
  ) -> UInt32 {
    let slot = pushes.take(sendClass, earlier: envelope.attempt)
    let push = pushes[slot]
    let bytes = Push.blockBytes(token: record.key.count, value: record.value.count, envelope)
    let size = BlockPool.size(fitting: bytes)
    let block = blocks.take(size)
    push.pointee.fill(block, size, record.key, record.value, envelope, origin)
    push.pointee.exchange.owner = slot
    return slot
  }

  /// Frees a slot and its memory. The push's outcome has been written down.
  func free(_ slot: UInt32) {
    let push = pushes[slot]
    if push.pointee.hasTurn { passTurn(slot) }
    release(push)
    blocks.put(push.pointee.block, Int(push.pointee.blockSize))
    pushes.put(slot)
  }

  /// Decides where a push goes from here: on its way, aside, or to its end.
  func route(_ slot: UInt32) {
    let push = pushes[slot]
    if isExpired(push) { return finish(slot, .expired) }
    if deviceHolds.mayHold(now: now), isThrottled(slot) { return }
    if order != nil, !push.pointee.hasTurn, !takeTurn(slot) { return }
    guard let pool = pool(for: push) else { return waitForCredential(slot) }
    guard admits(slot, to: pool.destination) else { return divert(slot, HoldReason.share) }
    enqueue(slot, pool)
  }

  /// Puts a push in line at its pool.
  func enqueue(_ slot: UInt32, _ pool: GatewayPool) {
    let push = pushes[slot]
    hold(slot, for: pool.destination)
    touch(pool)
    push.pointee.life.wait()
    pool.waiting.append(slot, push.pointee.life.sendClass)
  }

  /// Past its expiration, or older than its lane allows. `apns-expiration` 0 is one attempt, not the past.
  func isExpired(_ push: UnsafeMutablePointer<Push>) -> Bool {
    let envelope = push.pointee.envelope
    return envelope.hasExpired(at: wall) || wall - envelope.created > maxAge(envelope.lane)
  }

  func maxAge(_ lane: Lane) -> Int64 {
    switch lane {
    case .transactional: settings.maxAgeMilliseconds.transactional
    case .bulk: settings.maxAgeMilliseconds.bulk
    }
  }
}
