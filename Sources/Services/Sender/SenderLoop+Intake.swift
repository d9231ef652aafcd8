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
  /// How many records there is room for now.
  private var room: Int {
    guard isFeeding, !producer.isFull, blockedSides.isEmpty else { return 0 }
    guard unresolved.count < settings.maxInFlight / 2 else { return 0 }
    var credit = Self.lookahead
    for pool in pools {
      guard let pool else { continue }
      credit += pool.credit - pool.waiting.count
    }
    return min(credit, settings.maxInFlight - pushes.count)
  }

  /// Whether a turn right now would find records and room for them.
  var canTakeMore: Bool {
    let lanes = mayFillSides
    guard partitions.contains(where: { $0.mayTake && $0.held == nil && (lanes || $0.isRetry) })
    else { return false }
    return room > 0
  }

  /// When the next held retry is due, in monotonic milliseconds.
  var nextRetryDue: UInt64? {
    var next: Int64?
    for partition in partitions {
      if let held = partition.held { next = min(next ?? held.due, held.due) }
    }
    return next.map { now + UInt64(max(0, $0 - wall)) }
  }

  /// Takes what there is room for: transactional first, then retries that are due, then bulk.
  ///
  /// While the retry or feedback topics of the embedded broker are full only retries are taken: that is what
  /// empties them.
  func intake() {
    guard isFeeding, !partitions.isEmpty else { return }
    let lanes = mayFillSides
    if lanes { takeLane(.transactional) }
    takeRetries()
    if lanes { takeLane(.bulk) }
  }

  /// Whether the embedded broker has room for what an answer may lead to.
  private var mayFillSides: Bool { holdBack?.isOpen(outstandingBytes: 0) ?? true }

  private func takeLane(_ lane: Lane) {
    var room = self.room
    guard room > 0 else { return }
    // Each turn begins with another partition, so that none is always last.
    nextLane &+= 1
    for step in partitions.indices {
      let index = (step + nextLane) % partitions.count
      guard partitions[index].mayTake, case .lane(lane) = partitions[index].feed else {
        continue
      }
      room -= take(from: index, upTo: room)
      if room <= 0 { return }
    }
  }

  private func take(from index: Int, upTo room: Int) -> Int {
    var total = 0
    while total < room {
      let wanted = min(room - total, Self.takeAtOnce, partitions[index].allowance)
      if wanted == 0 { break }
      let taken = partitions[index].queue.take(into: &batch, upTo: wanted)
      for position in 0..<taken { accept(batch[position], from: index) }
      batch.release()
      total += taken
      if taken < wanted {
        partitions[index].mayHaveMore = false
        break
      }
    }
    return total
  }

  /// A tier is first in, first out: the head of each partition is read, and kept here until it is due.
  private func takeRetries() {
    for index in partitions.indices {
      guard case .retries(let tier) = partitions[index].feed else { continue }
      if let held = partitions[index].held {
        guard held.due <= wall else { continue }
        partitions[index].held = nil
        route(held.slot)
      }
      while partitions[index].mayTake, partitions[index].held == nil, room > 0 {
        takeRetry(from: index, tier)
      }
    }
  }

  private func takeRetry(from index: Int, _ tier: RetryTier) {
    guard partitions[index].queue.take(into: &batch, upTo: 1) == 1 else {
      partitions[index].mayHaveMore = false
      return
    }
    let record = batch[0]
    let due = record.timestamp + tier.delay
    accept(record, from: index, notBefore: due)
    batch.release()
  }

  /// Takes one record in. Whatever it is, it ends in an outcome.
  private func accept(_ record: KafkaRecord, from index: Int, notBefore due: Int64 = 0) {
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
    do throws(EnvelopeError) {
      envelope = try Envelope.parse(record.value.bindMemory(to: UInt8.self).span)
    } catch {
      return deadLetter(record, origin, detail: "\(error)")
    }
    do {
      let key = record.key.bindMemory(to: UInt8.self).span
      switch envelope.target {
      case .device: try DeviceToken.validate(key)
      case .channel: try ChannelID.validate(key)
      }
    } catch {
      return deadLetter(record, origin, detail: "key: \(error)")
    }
    let slot = store(record, envelope, origin)
    guard partitions[index].isFirst(envelope.takenID, among: settings.dedupWindow) else {
      return finish(slot, .deduplicated)
    }
    if due > wall {
      partitions[index].held = (slot, due)
    } else {
      route(slot)
    }
  }

  /// A record that an earlier assignment completed: a later one with its id is still a repeat.
  private func remember(_ record: KafkaRecord, from index: Int) {
    guard !partitions[index].isRetry,
      let envelope = try? Envelope.parse(record.value.bindMemory(to: UInt8.self).span)
    else { return }
    _ = partitions[index].isFirst(envelope.takenID, among: settings.dedupWindow)
  }

  /// Copies a record into a slot; the record's own memory can go.
  private func store(_ record: KafkaRecord, _ envelope: Envelope, _ origin: Origin) -> UInt32 {
    let slot = pushes.take()
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
    blocks.put(push.pointee.block, Int(push.pointee.blockSize))
    pushes.put(slot)
  }

  /// Puts a push in line at its pool, or lets it wait for a credential.
  func route(_ slot: UInt32) {
    let push = pushes[slot]
    if isExpired(push) { return finish(slot, .expired) }
    guard let pool = pool(for: push) else { return waitForCredential(slot) }
    pool.waiting.append(slot)
  }

  /// Past its expiration, or older than its lane allows. `apns-expiration` 0 is one attempt, not the past.
  func isExpired(_ push: UnsafeMutablePointer<Push>) -> Bool {
    let envelope = push.pointee.envelope
    if let expiration = envelope.expiration, expiration != 0, expiration * 1_000 <= wall {
      return true
    }
    return wall - envelope.created > maxAge(envelope.lane)
  }

  func maxAge(_ lane: Lane) -> Int64 {
    switch lane {
    case .transactional: settings.maxAgeMilliseconds.transactional
    case .bulk: settings.maxAgeMilliseconds.bulk
    }
  }
}
