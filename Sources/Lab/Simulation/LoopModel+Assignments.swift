// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import Pipeline
import Random

/// Partitions are begun, given back, lost, and made again.
extension LoopModel {
  /// The loop's partitions from now on.
  func grant(_ partitions: [Int], generation: Int, _ world: inout World) {
    self.generation = generation
    hasReleased = false
    offsets.epoch += 1
    offsets.rebuilds = []
    divide(partitions, &world)
    for partition in partitions { begin(partition, &world) }
    offsets.remade = []
    offsets.memory.removeAll()
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

  private func begin(_ partition: Int, _ world: inout World) {
    let state = world.kafka[partition]
    let committed = offsets.remade.contains(partition) ? nil : state.committed
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
    offsets.commits.begin(
      partition, epoch: offsets.epoch, committed: committed, resume, isNews: start.isNews)
    if let next = resume.next { offsets.gaps.begin(partition, at: next) }
    if let ids = start.ids, start.mustRead {
      let wait = world.chance.oneIn(30) ? 7_000 : world.chance.within(10...500)
      offsets.rebuilds.append(
        .init(number: number, start: ids, readyAt: world.now + UInt64(wait)))
    }
    places.append(world.kafka.place(partition, resumingAt: resume, isKnownLog: committed == nil))
  }

  /// The group wants the partitions back.
  func release(until deadline: UInt64, _ world: inout World) {
    dispatcher.release(until: deadline)
    perform(&world)
  }

  /// It hears that the group has given its partitions to others.
  func lose(_ world: inout World) {
    hasHeardLoss = true
    isResuming = false
    if dispatcher.isFeeding {
      release(until: world.now, &world)
    } else {
      dispatcher.shortenRelease(until: world.now)
    }
  }

  /// The topic was made again under the reader.
  func remade(_ partition: Int) {
    for index in places.indices where places[index].partition == partition {
      places[index].next = 0
    }
  }

  func finishRelease(_ handed: [HandedOverPartition], _ world: inout World) {
    for one in handed {
      note(places[one.partition].partition, one.done)
      guard let window = one.window else { continue }
      offsets.memory.keep(
        places[one.partition].partition, window, next: one.done.committable)
    }
    if !isFenced { commitLast(handed, &world) }
    offsets.release()
    let mine = places.map(\.partition)
    (places, lastSent, passedOver) = ([], [:], [:])
    if isResuming, !isFenced {
      isResuming = false
      return grant(mine, generation: generation, &world)
    }
    isResuming = false
    offsets.remade = []
    hasReleased = true
    hasEnded = isStopping
  }

  /// A refusal costs duplicates, not records.
  func commitLast(_ handed: [HandedOverPartition], _ world: inout World) {
    let plans = offsets.commits.everything(now: world.now)
    guard !world.chance.oneIn(5), apply(plans, logs, &world) else {
      return offsets.commits.refused()
    }
    offsets.commits.answered(plans.map { ($0.partition, $0.offset) })
    for one in handed {
      let place = places[one.partition]
      let state = world.kafka[place.partition]
      guard place.log == state.log, !offsets.remade.contains(place.partition) else { continue }
      if (state.committed ?? 0) < one.done.committable {
        world.kafka.fail("what was done was not committed when partitions were given back")
      }
    }
  }
}
