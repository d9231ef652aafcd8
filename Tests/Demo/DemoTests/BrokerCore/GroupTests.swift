// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import BrokerCore

/// The states of a consumer group.
@Suite struct GroupTests {
  private var group = Group()
  private var now: Int64 = 0
  private var ids = 0

  private mutating func join(
    _ connection: UInt64, _ member: String = "", instance: String? = nil,
    protocols: [String] = ["range"], needsID: Bool = false, kind: String = "consumer",
    metadata: [UInt8] = [], skipsAssignment: Bool = false
  ) -> [UInt64: Value] {
    ids += 1
    let replies = group.join(
      .init(
        connection: .init(connection), member: member, instance: instance, kind: kind,
        protocols: protocols.map { .init(name: $0, metadata: metadata[...]) }, needsID: needsID,
        skipsAssignment: skipsAssignment), newID: "m\(ids)", now: now, firstDelay: 100)
    return Dictionary(uniqueKeysWithValues: replies.map { ($0.connection.number, $0.body) })
  }

  private mutating func sync(
    _ connection: UInt64, _ member: String, _ assignments: [(String, [UInt8])] = [],
    generation: Int32? = nil, instance: String? = nil
  ) -> [UInt64: Value] {
    let replies = group.sync(
      .init(connection), member: member, instance: instance,
      generation: generation ?? group.generation, kind: nil, chosen: nil,
      assignments: assignments.map { (member: $0.0, bytes: $0.1[...]) }, now: now)
    return Dictionary(uniqueKeysWithValues: replies.map { ($0.connection.number, $0.body) })
  }

  private mutating func pass(_ milliseconds: Int64) -> [UInt64: Value] {
    now += milliseconds
    return Dictionary(
      uniqueKeysWithValues: group.tick(now: now).map { ($0.connection.number, $0.body) })
  }

  /// Two members, m1 the leader, with an assignment each.
  private mutating func makeStable() {
    _ = join(1)
    _ = join(2)
    _ = pass(100)
    _ = sync(2, "m2")
    _ = sync(1, "m1", [("m1", [1]), ("m2", [2])])
  }

  @Test mutating func `members are awaited, the first one assigns`() {
    #expect(join(1).isEmpty && join(2).isEmpty && group.state == .preparing)
    #expect(group.nextDeadline == 100)
    let joined = pass(100)
    #expect(joined[1]?["Leader"] == "m1" && joined[2]?["Leader"] == "m1")
    #expect(joined[1]?["Members"].list.count == 2 && joined[2]?["Members"].list.isEmpty == true)
    #expect(group.state == .completing && group.generation == 1)
    #expect(sync(2, "m2").isEmpty)
    let assigned = sync(1, "m1", [("m1", [1]), ("m2", [2])])
    #expect(assigned[1]?["Assignment"] == .bytes([1]) && assigned[2]?["Assignment"] == .bytes([2]))
    #expect(group.state == .stable)
    #expect(sync(2, "m2")[2]?["Assignment"] == .bytes([2]))
  }

  @Test mutating func `a client of today is told its id first`() {
    let first = join(1, needsID: true)
    #expect(first[1]?["Error"] == 79 && first[1]?["MemberId"] == "m1")
    #expect(join(1, "m1").isEmpty && group.members.map(\.id) == ["m1"])
    #expect(join(2, "m9")[2]?["Error"] == 25)
  }

  @Test mutating func `one that comes makes all join again, one that goes too`() {
    makeStable()
    #expect(join(3).isEmpty && group.state == .preparing)
    #expect(
      group.heartbeat(member: "m1", instance: nil, generation: 1, now: now) == .rebalanceInProgress)
    #expect(join(1, "m1").isEmpty)
    let joined = join(2, "m2")
    #expect(Set(joined.keys) == [1, 2, 3] && group.generation == 2)
    _ = sync(1, "m1")
    #expect(group.leave(member: "m3", instance: nil, now: now).error == .none)
    #expect(group.state == .preparing && group.members.count == 2)
    #expect(group.leave(member: "m3", instance: nil, now: now).error == .unknownMember)
  }

  @Test
  mutating func
    `one that is silent is gone after its session, one that does not join after the rebalance`()
  {
    makeStable()
    now += 6_000
    #expect(group.heartbeat(member: "m1", instance: nil, generation: 1, now: now) == .none)
    #expect(pass(4_000).isEmpty)
    #expect(group.members.map(\.id) == ["m1"] && group.state == .preparing)
    #expect(join(1, "m1")[1]?["Members"].list.count == 1)
    _ = sync(1, "m1")
    _ = join(4)
    // m1 goes on with its heartbeats and does not join.
    for _ in 0..<12 {
      _ = pass(5_000)
      _ = group.heartbeat(member: "m1", instance: nil, generation: group.generation, now: now)
    }
    #expect(group.members.map(\.client).count == 1 && group.member("m1") == nil)
  }

  @Test mutating func `what a member says of an old generation is refused`() {
    makeStable()
    #expect(
      group.heartbeat(member: "m1", instance: nil, generation: 0, now: now) == .illegalGeneration)
    #expect(group.heartbeat(member: "x", instance: nil, generation: 1, now: now) == .unknownMember)
    #expect(sync(1, "m1", generation: 0)[1]?["Error"] == 22)
    #expect(
      group.checkCommit(member: "m1", instance: nil, generation: 0, now: now) == .illegalGeneration)
    #expect(group.checkCommit(member: "m1", instance: nil, generation: 1, now: now) == nil)
    #expect(
      group.checkCommit(member: "", instance: nil, generation: -1, now: now) == .unknownMember)
    _ = join(3)
    // Commits go on while members are awaited.
    #expect(group.checkCommit(member: "m1", instance: nil, generation: 1, now: now) == nil)
    _ = join(1, "m1")
    _ = join(2, "m2")
    #expect(
      group.checkCommit(member: "m1", instance: nil, generation: 2, now: now)
        == .rebalanceInProgress)
  }

  @Test mutating func `a static member comes back without a rebalance, and its old id is fenced`() {
    _ = join(1, instance: "a")
    _ = join(2, instance: "b")
    _ = pass(100)
    _ = sync(2, "m2")
    _ = sync(1, "m1", [("m1", [1]), ("m2", [2])])
    let back = join(3, instance: "b")
    #expect(back[3]?["Generation"] == 1 && back[3]?["MemberId"] == "m3" && group.state == .stable)
    #expect(sync(3, "m3", instance: "b")[3]?["Assignment"] == .bytes([2]))
    #expect(
      group.heartbeat(member: "m2", instance: "b", generation: 1, now: now) == .fencedInstance)
    #expect(join(4, "m2", instance: "b")[4]?["Error"] == 82)
    // The leader that comes back is not asked to assign again.
    let leader = join(5, instance: "a")
    #expect(leader[5]?["Leader"] == "m1" && leader[5]?["SkipAssignment"] == 0)
    #expect(leader[5]?["Members"].list.isEmpty == true)
    // It stays the leader, which sees new partitions, where it can be told not to assign (JoinGroup 9).
    let today = join(6, instance: "a", skipsAssignment: true)
    let id = today[6]?["MemberId"] ?? .null
    #expect(today[6]?["Leader"] == id && today[6]?["SkipAssignment"] == 1)
    #expect(today[6]?["Members"].list.count == 2 && group.leader == id.text)
    #expect(sync(6, id.text, instance: "a")[6]?["Assignment"] == .bytes([1]))
    #expect(group.leave(member: "", instance: "a", now: now).error == .none)
    #expect(group.leave(member: "m2", instance: "b", now: now).error == .fencedInstance)
  }

  @Test mutating func `protocols must have one in common, and most votes win`() {
    _ = join(1, protocols: ["x", "y"])
    _ = join(2, protocols: ["y", "x"])
    #expect(join(3, protocols: ["z"])[3]?["Error"] == 23)
    #expect(join(3, kind: "connect")[3]?["Error"] == 23)
    _ = join(4, protocols: ["y", "x"])
    #expect(pass(100)[1]?["ProtocolName"] == "y")
  }

  @Test mutating func `a follower's retry changes nothing, the leader's begins a rebalance`() {
    makeStable()
    #expect(join(2, "m2")[2]?["Generation"] == 1 && group.state == .stable)
    #expect(join(2, "m2", metadata: [1]).isEmpty && group.state == .preparing)
    #expect(join(1, "m1")[1]?["Generation"] == 2)
    _ = sync(1, "m1")
    #expect(join(1, "m1").isEmpty && group.state == .preparing)
  }

  @Test mutating func `one that waits for an assignment is alive, and has a session from then on`()
  {
    _ = join(1)
    _ = join(2)
    _ = pass(100)
    #expect(sync(2, "m2").isEmpty)
    // The leader takes longer than a session.
    for _ in 0..<4 {
      #expect(pass(4_000).isEmpty)
      #expect(group.heartbeat(member: "m1", instance: nil, generation: 1, now: now) == .none)
    }
    #expect(sync(1, "m1", [("m2", [2])])[2]?["Assignment"] == .bytes([2]))
    #expect(pass(9_000).isEmpty && group.members.count == 2 && group.state == .stable)
    #expect(group.heartbeat(member: "m1", instance: nil, generation: 1, now: now) == .none)
    #expect(pass(1_000).isEmpty && group.members.map(\.id) == ["m1"])
  }

  @Test mutating func `of those that wait for an assignment in vain each is answered once`() {
    for connection: UInt64 in 1...3 { _ = join(connection) }
    _ = pass(100)
    _ = sync(2, "m2")
    _ = sync(3, "m3")
    for _ in 0..<11 {
      #expect(pass(5_000).isEmpty)
      _ = group.heartbeat(member: "m1", instance: nil, generation: 1, now: now)
    }
    let answers = pass(5_000)
    #expect(answers[2]?["Error"] == 25 && answers[3]?["Error"] == 27)
    #expect(group.members.map(\.id) == ["m1", "m3"] && group.state == .preparing)
  }

  @Test mutating func `one whose connection is gone while it waits expires`() {
    _ = join(1)
    group.disconnected(.init(1), now: now)
    #expect(pass(100).isEmpty)
    #expect(group.members.isEmpty && group.state == .empty && group.isDead)
  }

  @Test mutating func `a group has so many members, and ids that were told, and no more`() {
    for number in 0..<UInt64(Group.mostMembers / 2) { _ = join(number) }
    for number in 0..<UInt64(Group.mostMembers / 2) {
      #expect(join(10_000 + number, needsID: true)[10_000 + number]?["Error"] == 79)
    }
    #expect(join(9_999)[9_999]?["Error"] == 81)
    #expect(join(9_999, needsID: true)[9_999]?["Error"] == 81)
    // Ids that nobody has used are void when their session is over.
    _ = pass(20_000)
    #expect(join(9_999)[9_999]?["Error"] != 81)
  }
}
