// SPDX-License-Identifier: Apache-2.0

/// A consumer group as a state machine: members join, the leader assigns partitions, all send heartbeats.
///
///     empty ─▶ preparing ─▶ completing ─▶ stable
///       ▲          ▲─────────────┴───────────┘ a member comes, goes, or wants something else
///       └── all have gone
public struct Group: Sendable {
  public enum State: String, Sendable {
    case empty = "Empty"
    /// Waiting for members to join.
    case preparing = "PreparingRebalance"
    /// Waiting for the leader's assignment.
    case completing = "CompletingRebalance"
    case stable = "Stable"
  }

  /// A committed offset.
  public struct Committed: Equatable, Sendable {
    public var offset: Int64
    public var epoch: Int32
    public var metadata: String?
  }

  /// A response to a waiting member, or to the caller.
  public struct Reply: Equatable, Sendable {
    public var connection: ConnectionID
    public var body: Value
  }

  public private(set) var state = State.empty
  public private(set) var generation: Int32 = 0
  public private(set) var kind = ""
  public private(set) var chosen: String?
  public private(set) var leader: String?
  /// The members in the order of joining.
  public private(set) var members: [Member] = []
  public internal(set) var offsets: [TopicPartition: Committed] = [:]
  /// Member ids that were issued but not used yet, with their expiration.
  private var told: [String: Int64] = [:]
  /// The time at which missing members are removed from the rebalance.
  private var joinsUntil: Int64 = .max
  private var isFirst = false
  /// The maximum number of members and issued ids; more are rejected, as with Kafka's `group.max.size`.
  static let mostMembers = 1_000

  public init() {}

  public func member(_ id: String) -> Member? { members.first { $0.id == id } }
  public var isDead: Bool { state == .empty && offsets.isEmpty && told.isEmpty }

  // MARK: Joining

  /// - Parameters:
  ///   - newID: An id for a member that has none.
  ///   - firstDelay: The time that an empty group waits for more members.
  public mutating func join(
    _ joining: Joining, newID: String, now: Int64, firstDelay: Int64
  ) -> [Reply] {
    func refuse(_ error: ErrorCode, _ id: String? = nil) -> [Reply] {
      [
        .init(
          connection: joining.connection,
          body: ["Error": .error(error), "MemberId": .text(id ?? joining.member)])
      ]
    }
    if state != .empty {
      let isShared = joining.protocols.contains { offer in
        members.allSatisfy { $0.supports(offer.name) || $0.id == joining.member }
      }
      guard joining.kind == kind, isShared else { return refuse(.inconsistentProtocol) }
    }
    guard !joining.kind.isEmpty, !joining.protocols.isEmpty else {
      return refuse(.inconsistentProtocol)
    }
    if let instance = joining.instance,
      let place = members.firstIndex(where: { $0.instance == instance })
    {
      guard joining.member.isEmpty || joining.member == members[place].id else {
        return refuse(.fencedInstance)
      }
      if joining.member.isEmpty { return replace(place, joining, newID: newID, now: now) }
    } else if joining.member.isEmpty {
      guard members.count + told.count < Self.mostMembers else { return refuse(.groupIsFull) }
      if joining.needsID, joining.instance == nil {
        told[newID] = now + joining.session
        return refuse(.memberIDRequired, newID)
      }
      return add(joining, id: newID, now: now, firstDelay: firstDelay)
    }
    if told.removeValue(forKey: joining.member) != nil {
      return add(joining, id: joining.member, now: now, firstDelay: firstDelay)
    }
    guard let place = members.firstIndex(where: { $0.id == joining.member }) else {
      return refuse(.unknownMember)
    }
    return rejoin(place, joining, now: now)
  }

  private mutating func add(
    _ joining: Joining, id: String, now: Int64, firstDelay: Int64
  ) -> [Reply] {
    kind = joining.kind
    members.append(
      Member(
        id: id, instance: joining.instance, client: joining.client, host: joining.host,
        sessionMilliseconds: joining.session, rebalanceMilliseconds: joining.rebalance,
        protocols: joining.protocols, expires: now + joining.session,
        waiting: .join(joining.connection)))
    if state == .empty {
      isFirst = true
      state = .preparing
      joinsUntil = now + firstDelay
      return completeIfAll(now: now)
    }
    return prepare(now: now) + completeIfAll(now: now)
  }

  private mutating func rejoin(_ place: Int, _ joining: Joining, now: Int64) -> [Reply] {
    let member = members[place]
    let isSame = member.protocols == joining.protocols
    update(place, joining, now: now)
    // Only the leader may rebalance without a visible cause; a follower's retry gets the same response again.
    if state == .stable && isSame && member.id != leader || state == .completing && isSame {
      return [.init(connection: joining.connection, body: joinAnswer(members[place]))]
    }
    members[place].waiting = .join(joining.connection)
    return prepare(now: now) + completeIfAll(now: now)
  }

  private mutating func update(_ place: Int, _ joining: Joining, now: Int64) {
    members[place].protocols = joining.protocols
    members[place].sessionMilliseconds = joining.session
    members[place].rebalanceMilliseconds = joining.rebalance
    members[place].client = joining.client
    members[place].host = joining.host
    members[place].expires = now + joining.session
  }

  /// Handles the return of a static member: it takes its old place, and a client using its old id is fenced.
  private mutating func replace(
    _ place: Int, _ joining: Joining, newID: String, now: Int64
  ) -> [Reply] {
    var replies = dismiss(members[place], .fencedInstance)
    let isSame = members[place].protocols == joining.protocols
    let oldLeader = leader
    if leader == members[place].id { leader = newID }
    members[place].id = newID
    members[place].waiting = nil
    update(place, joining, now: now)
    if state == .stable && isSame {
      var answer = joinAnswer(members[place])
      // A leader must not assign again. An old client gets a different leader's id; a current one is told to skip the
      // assignment, and as the leader keeps watching for new partitions and topics.
      if leader == newID, !joining.skipsAssignment {
        answer = answer.with("Leader", .optional(oldLeader)).with("SkipAssignment", false)
          .with("Members", [])
      }
      return replies + [.init(connection: joining.connection, body: answer)]
    }
    members[place].waiting = .join(joining.connection)
    replies += prepare(now: now)
    return replies + completeIfAll(now: now)
  }

  /// Starts a rebalance and notifies members that wait for an assignment.
  private mutating func prepare(now: Int64) -> [Reply] {
    guard state == .stable || state == .completing else { return [] }
    var replies: [Reply] = []
    for place in members.indices {
      members[place].assignment = []
      guard case .sync(let connection)? = members[place].waiting else { continue }
      members[place].waiting = nil
      members[place].expires = now + members[place].sessionMilliseconds
      replies.append(.error(.rebalanceInProgress, connection))
    }
    state = .preparing
    isFirst = false
    joinsUntil = now + (members.map(\.rebalanceMilliseconds).max() ?? 0)
    return replies
  }

  private mutating func completeIfAll(now: Int64) -> [Reply] {
    guard state == .preparing else { return [] }
    let isAll = !isFirst && told.isEmpty && members.allSatisfy(\.isJoining)
    return isAll || now >= joinsUntil ? complete(now: now) : []
  }

  private mutating func complete(now: Int64) -> [Reply] {
    members.removeAll { !$0.isJoining && $0.instance == nil }
    joinsUntil = .max
    generation &+= 1
    guard !members.isEmpty else {
      becomeEmpty()
      return []
    }
    if leader.map({ member($0)?.isJoining ?? false }) != true {
      leader = members.first(where: \.isJoining)?.id ?? members[0].id
    }
    chosen = vote()
    state = .completing
    var replies: [Reply] = []
    for place in members.indices {
      guard case .join(let connection)? = members[place].waiting else { continue }
      members[place].waiting = nil
      members[place].expires = now + members[place].sessionMilliseconds
      replies.append(.init(connection: connection, body: joinAnswer(members[place])))
    }
    return replies
  }

  private mutating func becomeEmpty() {
    state = .empty
    (leader, chosen) = (nil, nil)
    joinsUntil = .max
  }

  /// The protocol that all members support and most prefer.
  private func vote() -> String? {
    let shared = members[0].protocols.map(\.name).filter { name in
      members.allSatisfy { $0.supports(name) }
    }
    var votes: [String: Int] = [:]
    for member in members {
      if let first = member.protocols.first(where: { shared.contains($0.name) }) {
        votes[first.name, default: 0] += 1
      }
    }
    return shared.max { votes[$0, default: 0] < votes[$1, default: 0] }
  }

  private func joinAnswer(_ member: Member) -> Value {
    let isLeader = member.id == leader
    let others: [Value] = members.map { other in
      [
        "MemberId": .text(other.id), "InstanceId": .optional(other.instance),
        "Metadata": .bytes(other.protocols.first { $0.name == chosen }?.metadata ?? []),
      ]
    }
    return [
      "Generation": .number(generation), "ProtocolType": .text(kind),
      "ProtocolName": .text(chosen ?? ""), "Leader": .text(leader ?? ""),
      "SkipAssignment": .init(booleanLiteral: isLeader && state == .stable),
      "MemberId": .text(member.id), "Members": .list(isLeader ? others : []),
    ]
  }

  // MARK: Assigning

  public mutating func sync(
    _ connection: ConnectionID, member id: String, instance: String?, generation: Int32,
    kind: String?, chosen: String?, assignments: [(member: String, bytes: ArraySlice<UInt8>)],
    now: Int64
  ) -> [Reply] {
    if let error = check(id, instance, generation) { return [.error(error, connection)] }
    if let kind, kind != self.kind { return [.error(.inconsistentProtocol, connection)] }
    if let chosen, chosen != self.chosen { return [.error(.inconsistentProtocol, connection)] }
    guard let place = members.firstIndex(where: { $0.id == id }) else { return [] }
    members[place].expires = now + members[place].sessionMilliseconds
    switch state {
    case .empty: return [.error(.unknownMember, connection)]
    case .preparing: return [.error(.rebalanceInProgress, connection)]
    case .stable: return [.init(connection: connection, body: syncAnswer(members[place]))]
    case .completing: break
    }
    members[place].waiting = .sync(connection)
    // As in Kafka, one that waits for the assignment is alive: its client may send no heartbeats meanwhile.
    members[place].expires =
      now + max(members[place].sessionMilliseconds, members[place].rebalanceMilliseconds)
    guard id == leader else { return [] }
    for (member, bytes) in assignments {
      guard let place = members.firstIndex(where: { $0.id == member }) else { continue }
      members[place].assignment = ArraySlice(Array(bytes))
    }
    state = .stable
    var replies: [Reply] = []
    for place in members.indices {
      guard case .sync(let connection)? = members[place].waiting else { continue }
      members[place].waiting = nil
      members[place].expires = now + members[place].sessionMilliseconds
      replies.append(.init(connection: connection, body: syncAnswer(members[place])))
    }
    return replies
  }

  private func syncAnswer(_ member: Member) -> Value {
    [
      "ProtocolType": .text(kind), "ProtocolName": .optional(chosen),
      "Assignment": .bytes(member.assignment),
    ]
  }

  /// The reason to reject a member's request.
  private func check(_ id: String, _ instance: String?, _ generation: Int32) -> ErrorCode? {
    if let instance, let holder = members.first(where: { $0.instance == instance }), holder.id != id
    {
      return .fencedInstance
    }
    guard member(id) != nil else { return .unknownMember }
    return generation == self.generation ? nil : .illegalGeneration
  }

  // MARK: Staying and leaving

  public mutating func heartbeat(
    member id: String, instance: String?, generation: Int32, now: Int64
  ) -> ErrorCode {
    if let error = check(id, instance, generation) { return error }
    if let place = members.firstIndex(where: { $0.id == id }) {
      members[place].expires = now + members[place].sessionMilliseconds
    }
    return state == .preparing ? .rebalanceInProgress : .none
  }

  /// Removes a member; a static one is identified by its instance.
  public mutating func leave(
    member id: String, instance: String?, now: Int64
  ) -> (error: ErrorCode, replies: [Reply]) {
    let found = members.first { instance == nil ? $0.id == id : $0.instance == instance }
    guard let found else {
      let wasTold = told.removeValue(forKey: id) != nil
      return (wasTold ? .none : .unknownMember, wasTold ? completeIfAll(now: now) : [])
    }
    guard instance == nil || id.isEmpty || id == found.id else { return (.fencedInstance, []) }
    return (.none, remove(found, now: now))
  }

  private mutating func remove(_ member: Member, now: Int64) -> [Reply] {
    var replies = dismiss(member, .unknownMember)
    members.removeAll { $0.id == member.id }
    if leader == member.id { leader = nil }
    guard !members.isEmpty else {
      generation &+= 1
      becomeEmpty()
      return replies
    }
    replies += prepare(now: now)
    return replies + completeIfAll(now: now)
  }

  /// Answers the request that a member waits for.
  private func dismiss(_ member: Member, _ error: ErrorCode) -> [Reply] {
    switch member.waiting {
    case .join(let connection)?, .sync(let connection)?: [.error(error, connection)]
    case nil: []
    }
  }

  /// The next time at which `tick` has something to do.
  public var nextDeadline: Int64 {
    let sessions = members.lazy.filter { !$0.isJoining }.map(\.expires).min() ?? .max
    return min(joinsUntil, sessions, told.values.min() ?? .max)
  }

  /// Removes members whose session has expired, and ends overdue rebalances.
  public mutating func tick(now: Int64) -> [Reply] {
    var replies: [Reply] = []
    told = told.filter { $0.value > now }
    for id in members.map(\.id) {
      // The removal of one may have answered another.
      guard let member = member(id), !member.isJoining, member.expires <= now else { continue }
      replies += remove(member, now: now)
    }
    return replies + completeIfAll(now: now)
  }

  /// Handles the loss of a connection with a waiting request, which can no longer be answered.
  public mutating func disconnected(_ connection: ConnectionID, now: Int64) {
    for place in members.indices {
      switch members[place].waiting {
      case .join(connection)?, .sync(connection)?:
        members[place].waiting = nil
        members[place].expires = now + members[place].sessionMilliseconds
      default: break
      }
    }
  }

  // MARK: Offsets

  /// The reason to reject a commit; nil if it is accepted.
  public mutating func checkCommit(
    member id: String, instance: String?, generation: Int32, now: Int64
  ) -> ErrorCode? {
    if generation < 0, id.isEmpty, state == .empty { return nil }
    if state == .empty { return generation < 0 ? nil : .illegalGeneration }
    if let error = check(id, instance, generation) { return error }
    if let place = members.firstIndex(where: { $0.id == id }) {
      members[place].expires = now + members[place].sessionMilliseconds
    }
    return state == .completing ? .rebalanceInProgress : nil
  }
}

extension Group.Reply {
  static func error(_ error: ErrorCode, _ connection: ConnectionID) -> Self {
    .init(connection: connection, body: ["Error": .error(error)])
  }
}
