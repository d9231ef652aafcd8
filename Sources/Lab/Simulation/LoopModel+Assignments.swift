// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Gateways
import Random

/// Partitions are begun, given back, lost, and made again.
extension LoopModel {
  func followGroup(_ world: inout World) {
    member.logs = logs
    while let task = member.next(&world, isIdle: handed != nil) {
      switch task {
      case .begun(let partitions, let atFirstRecord): grant(partitions, atFirstRecord, &world)
      case .drain(let deadline, let isLeaving): drain(until: deadline, isLeaving, &world)
      case .abandon: break
      case .released: released(&world)
      }
    }
  }

  /// The loop's partitions from now on.
  private func grant(_ partitions: [Int], _ atFirstRecord: Set<Int>, _ world: inout World) {
    offsets.rebuilds = []
    divide(partitions, &world)
    for partition in partitions {
      begin(partition, isRemade: atFirstRecord.contains(partition), &world)
    }
    offsets.remade = []
    offsets.memory.removeAll()
    member.logs = logs
  }

  /// Two loops would have as much of each topic.
  private func divide(_ partitions: [Int], _ world: inout World) {
    let topics = Feed.all.map { feed in partitions.filter { world.kafka[$0].feed == feed } }
    let loops = assignment.assign(topics)
    for topic in topics + [partitions] {
      let second = topic.reduce(0) { $0 + (loops[$1] ?? 0) }
      if abs(2 * second - topic.count) > 1 {
        world.kafka.fail("a loop has \(second) of \(topic.count) partitions")
      }
    }
  }

  private func begin(_ partition: Int, isRemade: Bool, _ world: inout World) {
    let state = world.kafka[partition]
    let committed = isRemade ? nil : state.committed
    var map: [Range<Int64>] = []
    if let committed, !state.metadata.isEmpty {
      map =
        (try? OffsetMap.decode(state.metadata, of: partition, base: committed, logEnd: state.end))
        ?? []
    }
    let start = offsets.memory.start(
      partition, takesIDs: state.feed.isLane, committed: committed, map: map)
    let resume = start.resume
    let number = dispatcher.granted(
      GrantedPartition(
        feed: state.feed, resume: resume, window: start.ids?.window,
        windowDeadline: start.mustRead ? world.now + 5_000 : nil))
    if number != places.count { preconditionFailure("partitions are numbered in their order") }
    member.commits.begin(
      partition, epoch: member.epoch, committed: committed, resume, isNews: start.isNews)
    if let next = resume.next { offsets.gaps.begin(partition, at: next) }
    if let ids = start.ids, start.mustRead {
      let wait = world.chance.oneIn(30) ? 7_000 : world.chance.within(10...500)
      offsets.rebuilds.append(
        .init(number: number, start: ids, readyAt: world.now + UInt64(wait)))
    }
    places.append(world.kafka.place(partition, resumingAt: resume, isKnownLog: committed == nil))
  }

  /// The partitions are to be given back, or there is less time for that than was said.
  private func drain(until deadline: UInt64, _ isLeaving: Bool, _ world: inout World) {
    if isLeaving {
      dispatcher.stop(until: deadline)
    } else if dispatcher.isFeeding {
      dispatcher.release(until: deadline)
    } else {
      dispatcher.shortenRelease(until: deadline)
    }
    perform(&world)
  }

  /// The topic was made again under the reader.
  func remade(_ partition: Int) {
    for index in places.indices where places[index].partition == partition {
      places[index].next = 0
    }
  }

  /// The loop says when it has given its partitions back.
  func handOver() {
    guard member.isDraining, handed == nil, let given = dispatcher.handOver() else { return }
    handed = given
    for one in given {
      note(places[one.partition].partition, one.done)
      guard let window = one.window else { continue }
      offsets.memory.keep(
        places[one.partition].partition, window, next: one.done.committable)
    }
  }

  private func released(_ world: inout World) {
    if member.hasCommitted { judgeLast(&world) }
    member.commits.handOver(to: &offsets.memory.completions)
    offsets.release()
    (places, lastSent, passedOver, handed) = ([], [:], [:], nil)
  }

  private func judgeLast(_ world: inout World) {
    for one in handed ?? [] {
      let place = places[one.partition]
      let state = world.kafka[place.partition]
      guard place.log == state.log, !offsets.remade.contains(place.partition) else { continue }
      if (state.committed ?? 0) < one.done.committable {
        world.kafka.fail("what was done was not committed when partitions were given back")
      }
    }
  }
}
