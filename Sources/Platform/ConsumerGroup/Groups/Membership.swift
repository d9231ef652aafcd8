// SPDX-License-Identifier: Apache-2.0

/// One process's membership in a consumer group: what follows, and in which order, from an assignment, a revocation, a
/// log that is another one than it was, a stop.
///
/// Partitions are never given up while something of them is under way that can still end in time: first the process
/// drains, then what is done is committed, and only then the assignment changes. Whoever owns the value performs the
/// steps in their order and answers `begin` with `began`, and `drain` or `abandon` with `drained`, once.
public struct Membership<Partition: Hashable & Sendable>: Sendable {
  /// The next action of a member.
  public enum Step: Equatable, Sendable {
    /// Begin these partitions: at the committed offsets, or at the first record of those whose log is another one.
    /// An empty list is possible.
    case begin([Partition], atFirstRecord: Set<Partition>)
    /// Take nothing more and finish what was taken; comes again when there is less time for it than was said.
    ///
    /// `deadline` is in monotonic milliseconds. `isLost`: the partitions are other members' already. `isLeaving`:
    /// nothing is begun afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The time is up: give up what is not finished.
    case abandon
    /// Commit what is done: the partitions are still ours.
    case commit
    /// The partitions are not ours any more. `isAwaited`: the group waits to hear so.
    case unassign(isAwaited: Bool)
    /// The client is of no further use: end it. `rejoin` follows, unless the process is to stop.
    case retire
    /// Join the group again, with a new client.
    case rejoin
    /// Leave the group. Nothing follows.
    case leave
  }

  private enum State: Equatable {
    case idle
    /// Assigned and not begun; to be tried at this time.
    case waiting([Partition], at: UInt64)
    /// `begin` is to be answered.
    case beginning([Partition])
    case assigned([Partition])
    case draining([Partition], Drain)
    /// Without a client until this time.
    case away(until: UInt64)
    case left
  }

  private enum Goal: Equatable {
    case unassign
    /// Everything is begun again without the group noticing.
    case resume
    /// A new client joins, after so many milliseconds.
    case rejoin(after: UInt64)
    /// `isAwaited`: the group has taken the partitions back meanwhile.
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

  /// The interval after which an assignment that could not be begun is tried again, in milliseconds.
  public static var retryInterval: UInt64 { 500 }

  private var state = State.idle
  /// Partitions whose log is another one: they begin at their first record, whatever is committed.
  private var remadeLogs: Set<Partition> = []
  private let rebalancePatience: UInt64

  /// - Parameter rebalancePatience: how long the group waits for what is under way, in milliseconds.
  public init(rebalancePatience: UInt64) { self.rebalancePatience = rebalancePatience }

  // MARK: Questions

  /// True if records are to be taken.
  public var isAssigned: Bool {
    if case .assigned = state { true } else { false }
  }

  public var isDraining: Bool {
    if case .draining = state { true } else { false }
  }

  public var hasLeft: Bool { state == .left }

  /// True if a stop is under way, or through: nothing is begun any more.
  public var isLeaving: Bool {
    switch state {
    case .draining(_, let drain): drain.isLeaving
    case .left: true
    case .idle, .waiting, .beginning, .assigned, .away: false
    }
  }

  /// True if the group's next event is to be processed: another change of the assignment waits until one is through.
  public var takesEvents: Bool {
    switch state {
    case .beginning, .away, .left: false
    case .draining(_, let drain): drain.isLeaving
    case .idle, .waiting, .assigned: true
    }
  }

  // MARK: Events; times in monotonic milliseconds

  /// The group has given partitions to this process. While it leaves, that is the group's next generation, which
  /// will hear of it.
  public mutating func assigned(_ partitions: [Partition], now: UInt64) -> [Step] {
    guard takesEvents, !isDraining else { return [] }
    return begin(partitions)
  }

  /// The answer to `begin`. Without success it comes again after a while.
  public mutating func began(_ isDone: Bool, now: UInt64) {
    guard case .beginning(let partitions) = state else { return }
    if isDone { remadeLogs = [] }
    state = isDone ? .assigned(partitions) : .waiting(partitions, at: now + Self.retryInterval)
  }

  /// The group takes all partitions back.
  ///
  /// - Parameter isLost: they are others' already.
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

  /// The member has lost its place, and its client cannot take it again: a new one is to. Whoever leaves does so
  /// without it.
  ///
  /// - Parameters:
  ///   - patience: what is under way gets so many milliseconds; nothing of it may be committed.
  ///   - delay: milliseconds after which the new client joins.
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

  /// The logs of these partitions are others than were read: everything is given back and begun again, since nothing
  /// of an old log may complete anything in the new one.
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

  /// The process is to stop, or can do nothing more. To be called until it has left: a rebalance that is under way
  /// ends first.
  ///
  /// - Parameters:
  ///   - patience: what is under way gets so many milliseconds.
  ///   - isLost: nothing of it may be committed.
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

  /// A second stop signal came: what is under way gets no more time.
  public mutating func fastShutdown(now: UInt64) -> [Step] {
    guard case .draining(let partitions, var drain) = state, drain.deadline > now else {
      return []
    }
    drain.deadline = now
    return self.drain(drain, of: partitions)
  }

  /// Nothing is under way any more, or it was given up: the answer to `drain` or `abandon`.
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

  /// To be called every turn.
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

  /// True if an assignment was neither begun nor given back: the consumer cannot close before it is.
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

  /// `abandon` comes with the next `tick` that finds the time up.
  private mutating func drain(_ drain: Drain, of partitions: [Partition]) -> [Step] {
    state = .draining(partitions, drain)
    if drain.isAbandoned { return [] }
    return [
      .drain(deadline: drain.deadline, isLost: drain.isLost, isLeaving: drain.isLeaving)
    ]
  }
}
