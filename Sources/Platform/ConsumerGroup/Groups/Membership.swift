// SPDX-License-Identifier: Apache-2.0

/// The state machine of a process's group membership: the steps after an assignment, a revocation, a replaced log or a
/// stop.
///
/// Partitions are never given up while records of them are unfinished and can still end in time: first the process
/// drains, then completed offsets are committed, and only then does the assignment change. The owner performs the steps
/// in order and answers `begin` with `began`, and `drain` or `abandon` with `drained`, once.
public struct Membership<Partition: Hashable & Sendable>: Sendable {
  public enum Step: Equatable, Sendable {
    /// Start these partitions: at the committed offsets, or at the first record where the log was replaced. The list
    /// may be empty.
    case begin([Partition], atFirstRecord: Set<Partition>)
    /// Take no more records and finish those taken; repeated if the deadline moves forward.
    ///
    /// `deadline` is in monotonic milliseconds. `isLost`: the partitions already belong to other members. `isLeaving`:
    /// nothing is begun afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The deadline has passed: give up unfinished records.
    case abandon
    /// Commit completed offsets: the partitions are still ours.
    case commit
    /// The partitions are no longer ours. `isAwaited`: the group waits for the `unassign`.
    case unassign(isAwaited: Bool)
    /// The client can no longer be used: end it. `rejoin` follows, unless the process is stopping.
    case retire
    /// Rejoin the group with a new client.
    case rejoin
    /// Leave the group. No step follows.
    case leave
  }

  private enum State: Equatable {
    case idle
    /// Assigned but not begun; tried at this time.
    case waiting([Partition], at: UInt64)
    /// Waiting for the response to `begin`.
    case beginning([Partition])
    case assigned([Partition])
    case draining([Partition], Drain)
    /// Without a client until this time.
    case away(until: UInt64)
    case left
  }

  private enum Goal: Equatable {
    case unassign
    /// Everything is begun again; the group does not notice.
    case resume
    /// A new client joins after this many milliseconds.
    case rejoin(after: UInt64)
    /// `isAwaited`: the group has revoked the partitions meanwhile.
    case leave(isAwaited: Bool)
  }

  private struct Drain: Equatable {
    var deadline: UInt64
    var isLost: Bool
    var goal: Goal
    var isAbandoned = false

    var isLeaving: Bool {
      if case .leave = goal { true } else { false }
    }
  }

  /// The interval after which an assignment that could not begin is retried, in milliseconds.
  public static var retryInterval: UInt64 { 500 }

  private var state = State.idle
  /// Partitions whose log was replaced: they start at their first record, whatever is committed.
  private var remadeLogs: Set<Partition> = []
  private let rebalancePatience: UInt64

  /// - Parameter rebalancePatience: how long the group waits for unfinished records, in milliseconds.
  public init(rebalancePatience: UInt64) { self.rebalancePatience = rebalancePatience }

  // MARK: Questions

  public var isAssigned: Bool {
    if case .assigned = state { true } else { false }
  }

  public var isDraining: Bool {
    if case .draining = state { true } else { false }
  }

  public var hasLeft: Bool { state == .left }

  /// True if a stop is under way or complete: nothing is begun any more.
  public var isLeaving: Bool {
    switch state {
    case .draining(_, let drain): drain.isLeaving
    case .left: true
    case .idle, .waiting, .beginning, .assigned, .away: false
    }
  }

  /// True if the group's next event may be handled: another change of the assignment waits until this one is complete.
  public var takesEvents: Bool {
    switch state {
    case .beginning, .away, .left: false
    case .draining(_, let drain): drain.isLeaving
    case .idle, .waiting, .assigned: true
    }
  }

  // MARK: Events; times in monotonic milliseconds

  /// The group has assigned partitions to this process. While it leaves, that belongs to the group's next generation,
  /// which will learn of it.
  public mutating func assigned(_ partitions: [Partition], now: UInt64) -> [Step] {
    guard takesEvents, !isDraining else { return [] }
    return begin(partitions)
  }

  /// The response to `begin`. On failure `begin` is retried after a while.
  public mutating func began(_ isDone: Bool, now: UInt64) {
    guard case .beginning(let partitions) = state else { return }
    if isDone { remadeLogs = [] }
    state = isDone ? .assigned(partitions) : .waiting(partitions, at: now + Self.retryInterval)
  }

  public mutating func revoked(isLost: Bool, now: UInt64) -> [Step] {
    let deadline = isLost ? now : now + rebalancePatience
    switch state {
    case .idle, .waiting, .beginning, .assigned:
      return drain(Drain(deadline: deadline, isLost: isLost, goal: .unassign))
    case .draining(let partitions, var drain):
      drain.goal = drain.isLeaving ? .leave(isAwaited: true) : .unassign
      drain.isLost = drain.isLost || isLost
      drain.deadline = min(drain.deadline, deadline)
      return self.drain(drain, of: partitions)
    case .away, .left: return []
    }
  }

  /// The member was fenced, and its client cannot rejoin: a new one must. A process that is stopping leaves without it.
  ///
  /// - Parameters:
  ///   - patience: the time for unfinished records, in milliseconds; nothing of them may be committed.
  ///   - delay: the delay after which the new client joins, in milliseconds.
  public mutating func expelled(patience: UInt64, delay: UInt64, now: UInt64) -> [Step] {
    let deadline = now + patience
    switch state {
    case .idle, .waiting, .beginning, .assigned:
      return drain(Drain(deadline: deadline, isLost: true, goal: .rejoin(after: delay)))
    case .draining(let partitions, var drain):
      drain.goal = drain.isLeaving ? .leave(isAwaited: true) : .rejoin(after: delay)
      drain.isLost = true
      drain.deadline = min(drain.deadline, deadline)
      return self.drain(drain, of: partitions)
    case .away, .left: return []
    }
  }

  /// The logs of these partitions were replaced: all partitions are given up and begun again, since no record of an old
  /// log may complete one of the new log.
  public mutating func remade(_ partitions: Set<Partition>, now: UInt64) -> [Step] {
    switch state {
    case .assigned:
      remadeLogs.formUnion(partitions)
      return drain(Drain(deadline: now + rebalancePatience, isLost: false, goal: .resume))
    case .draining(_, let drain) where drain.goal == .resume: remadeLogs.formUnion(partitions)
    default: break
    }
    return []
  }

  /// The process must stop, or cannot continue. Call it until the process has left: a rebalance that is under way ends
  /// first.
  ///
  /// - Parameter isLost: whether nothing of them may be committed.
  public mutating func stop(patience: UInt64, isLost: Bool = false, now: UInt64) -> [Step] {
    switch state {
    case .idle, .waiting, .beginning, .assigned, .away:
      let goal = Goal.leave(isAwaited: isWaitingForAnswer)
      return drain(Drain(deadline: now + patience, isLost: isLost, goal: goal))
    case .draining(let partitions, var drain) where isLost && !drain.isLost:
      drain.isLost = true
      drain.deadline = min(drain.deadline, now + patience)
      return self.drain(drain, of: partitions)
    case .draining, .left: return []
    }
  }

  /// A second stop signal arrived: unfinished records get no more time.
  public mutating func fastShutdown(now: UInt64) -> [Step] {
    guard case .draining(let partitions, var drain) = state, drain.deadline > now else {
      return []
    }
    drain.deadline = now
    return self.drain(drain, of: partitions)
  }

  /// The response to `drain` or `abandon`: no record is unfinished, or the rest was given up.
  public mutating func drained(now: UInt64) -> [Step] {
    guard case .draining(let partitions, let drain) = state else { return [] }
    let commit: [Step] = drain.isLost ? [] : [.commit]
    switch drain.goal {
    case .unassign:
      (state, remadeLogs) = (.idle, [])
      return commit + [.unassign(isAwaited: true)]
    case .resume: return commit + [.unassign(isAwaited: true)] + begin(partitions)
    case .rejoin(let delay):
      (state, remadeLogs) = (.away(until: now + delay), [])
      return [.unassign(isAwaited: false), .retire]
    case .leave(let isAwaited):
      state = .left
      return commit + [.unassign(isAwaited: isAwaited), .leave]
    }
  }

  /// Call it every turn.
  public mutating func tick(now: UInt64) -> [Step] {
    switch state {
    case .waiting(let partitions, let time) where now >= time: return begin(partitions)
    case .draining(let partitions, var drain) where now >= drain.deadline && !drain.isAbandoned:
      drain.isAbandoned = true
      state = .draining(partitions, drain)
      return [.abandon]
    case .away(let time) where now >= time:
      state = .idle
      return [.rejoin]
    default: return []
    }
  }

  // MARK: Steps

  /// True if an assignment was neither begun nor given up: the consumer cannot close before it is.
  private var isWaitingForAnswer: Bool {
    switch state {
    case .waiting, .beginning: true
    default: false
    }
  }

  private mutating func begin(_ partitions: [Partition]) -> [Step] {
    state = .beginning(partitions)
    return [.begin(partitions, atFirstRecord: remadeLogs.intersection(partitions))]
  }

  private mutating func drain(_ drain: Drain) -> [Step] {
    switch state {
    case .waiting(let partitions, _), .beginning(let partitions), .assigned(let partitions):
      return self.drain(drain, of: partitions)
    default: return self.drain(drain, of: [])
    }
  }

  /// `abandon` follows from the first `tick` after the deadline.
  private mutating func drain(_ drain: Drain, of partitions: [Partition]) -> [Step] {
    state = .draining(partitions, drain)
    if drain.isAbandoned { return [] }
    return [
      .drain(deadline: drain.deadline, isLost: drain.isLost, isLeaving: drain.isLeaving)
    ]
  }
}
