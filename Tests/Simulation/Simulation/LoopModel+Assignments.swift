// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

/// Partitions are begun, given back, lost, and made again.
extension LoopModel {
  func followGroup(_ world: inout World) {
    member.logs = logs
    while let task = member.next(&world) {
      world.kafka.note("sender \(number): \(task)")
      switch task {
      case .begin(let assignment): begin(assignment, &world)
      case .drain(let deadline, let isLost, let isLeaving):
        drain(until: deadline, isLost, isLeaving, &world)
      case .unassigned: unassigned(&world)
      case .forget(let partitions):
        for partition in partitions { assignments.memory.forget(partition) }
      case .told(let partitions, let findings): told(partitions, findings, &world)
      // The loop has the deadline, and keeps it.
      case .abandon, .begun: break
      }
    }
  }

  private func begin(_ assignment: GroupAssignment<Int>, _ world: inout World) {
    let plan = plan(assignment, &world)
    guard member.begin(plan.starts, &world) else {
      return member.machine.handOver(to: &assignments.memory.completions)
    }
    judgeDivision(plan, &world)
    epoch = assignment.epoch
    for grant in plan.grants { begin(grant, assignment, &world) }
    assignments.begun()
    reading = WindowReading(plan.wants, capacity: settings.dedupWindow)
    member.logs = logs
  }

  private func plan(
    _ assignment: GroupAssignment<Int>, _ world: inout World
  ) -> Assignments<Int>.Plan {
    let topics = TopicKind.all.map { topicKind in
      assignment.partitions.filter { world.kafka[$0].topicKind == topicKind }.map { partition in
        let state = world.kafka[partition]
        let committed = assignment.atFirstRecord.contains(partition) ? nil : state.committed
        return Assignments.Known(
          partition, takesIDs: topicKind.isLane, committed: committed, metadata: state.metadata,
          logStart: nil, logEnd: state.end)
      }
    }
    return assignments.plan(topics, now: world.now)
  }

  /// Two loops would have as much of each topic.
  private func judgeDivision(_ plan: Assignments<Int>.Plan, _ world: inout World) {
    let topics = TopicKind.all.map { topicKind in
      plan.grants.filter { world.kafka[$0.partition].topicKind == topicKind }
    }
    for topic in topics + [plan.grants] {
      let second = topic.reduce(0) { $0 + $1.loop }
      if abs(2 * second - topic.count) > 1 {
        world.kafka.fail("a loop has \(second) of \(topic.count) partitions")
      }
    }
  }

  private func begin(
    _ grant: Assignments<Int>.Grant, _ assignment: GroupAssignment<Int>, _ world: inout World
  ) {
    let state = world.kafka[grant.partition]
    let number = dispatcher.granted(GrantedPartition(grant, state.topicKind))
    // Nothing is known to be done: what the owner before sent is not looked for.
    if grant.resume.next ?? 0 == 0 { withoutWindow.insert(number) }
    if number != places.count { preconditionFailure("partitions are numbered in their order") }
    let isKnownLog = state.committed == nil || assignment.atFirstRecord.contains(grant.partition)
    var place = world.kafka.place(grant.partition, resumingAt: grant.resume, isKnownLog: isKnownLog)
    let known = max(place.next, grant.resume.completedAbove.last?.upperBound ?? 0)
    place.readBackTo = place.next - Int64(settings.dedupWindow)
    place.lookedAheadTo = known + Int64(settings.dedupWindow)
    places.append(place)
  }

  /// The loop is to drain, or there is less time for that than was said.
  private func drain(
    until deadline: UInt64, _ isLost: Bool, _ isLeaving: Bool, _ world: inout World
  ) {
    (reading, stretches) = (nil, [])
    let begins = assignments.drain(isLost: isLost)
    if isLeaving {
      dispatcher.drain(until: deadline, isLast: true)
    } else if begins {
      dispatcher.drain(until: deadline)
    } else {
      dispatcher.shortenDrain(until: deadline)
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
  func handOver(_ world: World) {
    guard assignments.isDraining, let given = dispatcher.handOver() else { return }
    handed = given
    for one in given {
      note(places[one.partition].partition, one.done)
      if let jump = one.jump {
        member.machine.jumped(places[one.partition].partition, epoch: epoch, jump)
      }
      guard let window = one.window else { continue }
      assignments.keep(places[one.partition].partition, window, next: one.done.committable)
    }
    while !assignments.loopDrained() {}
    member.machine.drained(now: world.now)
  }

  private func unassigned(_ world: inout World) {
    if member.hasCommitted { judgeLast(&world) }
    member.machine.handOver(to: &assignments.memory.completions)
    (places, lastSent, passedOver, handed) = ([], [:], [:], nil)
    withoutWindow = []
    (doubted, remade) = ([:], [])
  }

  private func judgeLast(_ world: inout World) {
    for one in handed ?? [] {
      let place = places[one.partition]
      let state = world.kafka[place.partition]
      guard place.log == state.log, !remade.contains(place.partition) else { continue }
      // It was committed of the log before, and went with it.
      if one.done.committable <= place.overlookedBelow { continue }
      let committed = state.committed ?? 0
      if committed < one.done.committable {
        world.kafka.fail(
          "\(place.partition): \(one.done.committable) was done, and \(committed) committed "
            + "when partitions were given back")
      }
    }
  }
}
