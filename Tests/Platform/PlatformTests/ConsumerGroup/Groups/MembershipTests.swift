// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing
import Waiting

@Suite struct MembershipTests {
  private typealias Step = Membership<Int>.Step

  private func member(_ partitions: [Int] = [1, 2]) -> Membership<Int> {
    var member = Membership<Int>(rebalancePatience: 100)
    #expect(member.assigned(partitions, now: 0) == [.begin(partitions, atFirstRecord: [])])
    member.began(true, now: 0)
    #expect(member.isAssigned)
    return member
  }

  @Test func `partitions are drained, committed and given up, in this order`() {
    var member = member()
    #expect(
      member.revoked(isLost: false, now: 1_000) == [
        .drain(deadline: 1_100, isLost: false, isLeaving: false)
      ])
    #expect(!member.isAssigned && member.isDraining && !member.takesEvents)
    #expect(member.tick(now: 1_099) == [])
    #expect(member.drained(now: 1_099) == [.commit, .unassign(isAwaited: true)])
    #expect(!member.isDraining && member.takesEvents)
    #expect(member.assigned([2], now: 1_200) == [.begin([2], atFirstRecord: [])])
  }

  @Test func `a step that does not end in time is given up, once`() {
    var member = member()
    _ = member.revoked(isLost: false, now: 1_000)
    #expect(member.tick(now: 1_100) == [.abandon])
    #expect(member.tick(now: 1_200) == [])
    #expect(member.drained(now: 1_200) == [.commit, .unassign(isAwaited: true)])
    #expect(member.drained(now: 1_200) == [])
  }

  @Test func `of lost partitions nothing is waited for and nothing committed`() {
    var member = member()
    #expect(
      member.revoked(isLost: true, now: 1_000) == [
        .drain(deadline: 1_000, isLost: true, isLeaving: false)
      ])
    #expect(member.tick(now: 1_000) == [.abandon])
    #expect(member.drained(now: 1_000) == [.unassign(isAwaited: true)])
  }

  @Test func `a member that has lost its place commits nothing and joins again, after a while`() {
    var member = member()
    #expect(
      member.expelled(patience: 50, delay: 1_000, now: 100) == [
        .drain(deadline: 150, isLost: true, isLeaving: false)
      ])
    #expect(member.tick(now: 150) == [.abandon])
    #expect(member.drained(now: 160) == [.unassign(isAwaited: false), .retire])
    #expect(!member.takesEvents && !member.isDraining && member.tick(now: 1_159) == [])
    #expect(member.tick(now: 1_160) == [.rejoin])
    #expect(member.tick(now: 1_161) == [] && member.takesEvents)
    #expect(member.assigned([2], now: 1_200) == [.begin([2], atFirstRecord: [])])
  }

  @Test func `a stop does not wait for the group to be joined again`() {
    var member = member()
    _ = member.expelled(patience: 0, delay: 1_000, now: 0)
    _ = member.drained(now: 0)
    #expect(
      member.stop(patience: 5_000, now: 10) == [
        .drain(deadline: 5_010, isLost: false, isLeaving: true)
      ])
    #expect(member.drained(now: 10) == [.commit, .unassign(isAwaited: false), .leave])
  }

  @Test
  func `a member that has lost its place while it leaves goes on leaving, and commits nothing`() {
    var member = member()
    _ = member.stop(patience: 5_000, now: 0)
    #expect(
      member.expelled(patience: 50, delay: 1_000, now: 10) == [
        .drain(deadline: 60, isLost: true, isLeaving: true)
      ])
    #expect(member.drained(now: 20) == [.unassign(isAwaited: true), .leave])
  }

  @Test func `partitions that cannot be begun are tried again, until the group takes them back`() {
    var member = Membership<Int>(rebalancePatience: 100)
    _ = member.assigned([1], now: 0)
    member.began(false, now: 10)
    #expect(!member.isAssigned && member.tick(now: 509) == [])
    #expect(member.tick(now: 510) == [.begin([1], atFirstRecord: [])])
    member.began(false, now: 600)
    #expect(
      member.revoked(isLost: false, now: 700) == [
        .drain(deadline: 800, isLost: false, isLeaving: false)
      ])
    #expect(member.drained(now: 700) == [.commit, .unassign(isAwaited: true)])
    #expect(member.tick(now: 9_000) == [])
  }

  @Test func `a log that is another one is begun again at its first record, until it was`() {
    var member = member()
    #expect(member.remade([2], now: 0) == [.drain(deadline: 100, isLost: false, isLeaving: false)])
    #expect(member.remade([1], now: 10) == [])
    #expect(
      member.drained(now: 20) == [
        .commit, .unassign(isAwaited: true), .begin([1, 2], atFirstRecord: [1, 2]),
      ])
    member.began(false, now: 20)
    #expect(member.tick(now: 520) == [.begin([1, 2], atFirstRecord: [1, 2])])
    member.began(true, now: 520)
    _ = member.revoked(isLost: false, now: 600)
    _ = member.drained(now: 600)
    #expect(member.assigned([1, 2], now: 700) == [.begin([1, 2], atFirstRecord: [])])
  }

  @Test func `a stop drains, commits and leaves; a rebalance meanwhile shortens the time`() {
    var member = member()
    #expect(
      member.stop(patience: 5_000, now: 0) == [
        .drain(deadline: 5_000, isLost: false, isLeaving: true)
      ])
    #expect(member.stop(patience: 5_000, now: 10) == [], "said every turn")
    #expect(member.takesEvents)
    #expect(member.assigned([7], now: 15) == [], "the next generation will hear of it")
    #expect(
      member.revoked(isLost: false, now: 20) == [
        .drain(deadline: 120, isLost: false, isLeaving: true)
      ])
    #expect(member.drained(now: 30) == [.commit, .unassign(isAwaited: true), .leave])
    #expect(member.hasLeft && !member.takesEvents)
  }

  @Test func `a second signal leaves no more time`() {
    var member = member()
    #expect(member.fastShutdown(now: 5) == [], "nothing is under way")
    _ = member.stop(patience: 5_000, now: 0)
    #expect(member.fastShutdown(now: 10) == [.drain(deadline: 10, isLost: false, isLeaving: true)])
    #expect(member.tick(now: 10) == [.abandon])
    #expect(member.drained(now: 10) == [.commit, .unassign(isAwaited: false), .leave])
  }

  @Test func `a member that can do nothing more commits nothing, whatever was under way`() {
    var idle = Membership<Int>(rebalancePatience: 100)
    #expect(
      idle.stop(patience: 0, isLost: true, now: 0) == [
        .drain(deadline: 0, isLost: true, isLeaving: true)
      ])
    #expect(idle.drained(now: 0) == [.unassign(isAwaited: false), .leave])
    var member = member()
    _ = member.stop(patience: 5_000, now: 0)
    #expect(
      member.stop(patience: 0, isLost: true, now: 10) == [
        .drain(deadline: 10, isLost: true, isLeaving: true)
      ])
    #expect(member.drained(now: 10) == [.unassign(isAwaited: false), .leave])
  }

  /// Every sequence of so many events: each step comes when it may, and a stop always ends.
  @Test func `no order of events breaks the order of steps`() {
    var sequences = 0
    func explore(_ world: MembershipWorld, depth: Int) {
      sequences += 1
      if let problem = world.problem { Issue.record("\(world.history): \(problem)") }
      guard depth > 0, world.problem == nil else { return end(world) }
      for event in MembershipWorld.Event.allCases where world.mayCome(event) {
        var next = world
        next.take(event)
        explore(next, depth: depth - 1)
      }
    }
    func end(_ world: MembershipWorld) {
      var world = world
      for event in [
        MembershipWorld.Event.began, .drained, .stop, .began, .drained, .stop, .drained,
      ]
      where world.mayCome(event) { world.take(event) }
      let problem = world.problem ?? (world.hasLeft ? nil : "does not end")
      if let problem { Issue.record("\(world.history): \(problem)") }
    }
    explore(MembershipWorld(), depth: 5)
    #expect(sequences > 10_000)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `a long random sequence of events breaks no rule`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var world = MembershipWorld()
    for _ in 0..<500 {
      let events = MembershipWorld.Event.allCases.filter {
        world.mayCome($0) && ($0 != .stop && $0 != .fail || random.oneIn(50))
      }
      guard let event = events.randomElement(using: &random) else { break }
      world.take(event)
    }
    #expect(world.problem == nil, "seed \(seed): \(world.problem ?? "") after \(world.history)")
  }
}

/// A group and a process between which a `Membership` stands; says which step came when it may not.
private struct MembershipWorld {
  enum Event: CaseIterable {
    case assigned, assignedNothing, began, notBegun, revoked, lost, expelled, remade, stop, fail
    case fastShutdown, drained, pause, longPause
  }

  private var member = Membership<Int>(rebalancePatience: 100)
  private var now: UInt64 = 0
  private(set) var history: [Event] = []
  private(set) var problem: String?

  /// What the group has given to the process and not taken back; nil: nothing.
  private var assignment: [Int]?
  /// The group waits for an answer to a revocation.
  private var isRevoked = false
  private var isLost = false
  /// The consumer reads.
  private var isReading = false
  private var owesBegan = false
  private var owesDrained = false
  private var deadline: UInt64?
  private var wasAbandoned = false
  private var wasLeaving = false
  /// It has no client, and gets one not before that time.
  private var isAway = false
  private var awayUntil: UInt64 = 0
  private(set) var hasLeft = false

  func mayCome(_ event: Event) -> Bool {
    switch event {
    case .assigned, .assignedNothing: member.takesEvents && assignment == nil && !isRevoked
    case .revoked, .lost: member.takesEvents && assignment != nil && !isRevoked
    case .expelled: member.takesEvents
    case .began, .notBegun: owesBegan
    case .drained: owesDrained
    case .remade, .stop, .fail, .fastShutdown, .pause, .longPause: !owesBegan
    }
  }

  mutating func take(_ event: Event) {
    history.append(event)
    switch event {
    case .assigned, .assignedNothing:
      assignment = event == .assigned ? [1, 2] : []
      perform(member.assigned(assignment!, now: now))
    case .began, .notBegun:
      owesBegan = false
      isReading = event == .began
      member.began(isReading, now: now)
    case .revoked, .lost:
      isRevoked = true
      if event == .lost { isLost = true }
      perform(member.revoked(isLost: event == .lost, now: now))
    case .expelled:
      if owesDrained || assignment != nil { isLost = true }
      perform(member.expelled(patience: 50, delay: 1_000, now: now))
    case .remade: perform(member.remade([1], now: now))
    case .stop: perform(member.stop(patience: 1_000, now: now))
    case .fail:
      if owesDrained || assignment != nil { isLost = true }
      perform(member.stop(patience: 0, isLost: true, now: now))
    case .fastShutdown: perform(member.fastShutdown(now: now))
    case .drained:
      owesDrained = false
      perform(member.drained(now: now))
    case .pause, .longPause:
      now += event == .pause ? 50 : 2_000
      perform(member.tick(now: now))
    }
    if member.isAssigned, !isReading { problem = "takes records of partitions that are not read" }
    if member.isDraining, !owesDrained { problem = "waits for an answer that is not due" }
    if isAway, member.takesEvents, !member.isLeaving { problem = "asks a client that has ended" }
    if isRevoked, !owesDrained { problem = "the group waits for nothing" }
  }

  private mutating func perform(_ steps: [Membership<Int>.Step]) {
    for step in steps {
      if hasLeft { problem = "\(step) after it has left" }
      switch step {
      case .begin(let partitions, let first):
        if isReading || owesBegan || owesDrained { problem = "begins twice" }
        if isRevoked || partitions != assignment { problem = "begins what it does not have" }
        if wasLeaving { problem = "begins while it leaves" }
        if !first.isSubset(of: partitions) { problem = "begins another log than it has" }
        owesBegan = true
      case .drain(let time, let isLost, let isLeaving):
        if wasAbandoned { problem = "drains what was given up" }
        if let deadline, time > deadline { problem = "gets more time" }
        if self.isLost, !isLost { problem = "does not know what is lost" }
        if isLeaving != member.isLeaving { problem = "does not say whether it leaves" }
        if wasLeaving, !isLeaving { problem = "stays after all" }
        wasLeaving = isLeaving
        (owesDrained, deadline) = (true, time)
      case .abandon:
        guard let deadline, owesDrained, !wasAbandoned else {
          problem = "gives up what is not under way"
          continue
        }
        if now < deadline { problem = "gives up too early" }
        wasAbandoned = true
      case .commit:
        if deadline == nil || owesDrained { problem = "commits what it has not drained" }
        if isLost { problem = "commits what is lost" }
      case .unassign(let isAwaited): unassign(isAwaited, steps)
      case .retire:
        if isAway { problem = "ends its client twice" }
        (isAway, isReading, isRevoked, assignment) = (true, false, false, nil)
      case .rejoin:
        if !isAway { problem = "joins twice" }
        if now < awayUntil { problem = "joins too early" }
        isAway = false
      case .leave:
        if isReading, isRevoked { problem = "leaves without an answer" }
        hasLeft = true
      }
    }
  }

  private mutating func unassign(_ isAwaited: Bool, _ steps: [Membership<Int>.Step]) {
    if deadline == nil || owesDrained { problem = "gives back what it has not drained" }
    if isRevoked, !isAwaited, !steps.contains(.retire) { problem = "does not answer the group" }
    if isAwaited {
      isReading = false
      if isRevoked { (assignment, isRevoked) = (nil, false) }
    }
    (isLost, deadline, wasAbandoned) = (false, nil, false)
    awayUntil = now + 1_000
  }
}
