// SPDX-License-Identifier: Apache-2.0

/// The pushes of one destination: those that wait, by class, and how many are open.
///
/// A destination is what connections are pooled by: a credential's pushes to one environment. Every slot that
/// `next` hands out is open until `ended` or `returned` says otherwise.
package struct SendQueue: Sendable {
  @usableFromInline package internal(set) var transactional = SlotQueue()
  @usableFromInline package internal(set) var retries = SlotQueue()
  @usableFromInline package internal(set) var bulk = SlotQueue()
  /// Open streams of the transactional class, and of the other two.
  @usableFromInline package internal(set) var openTransactional = 0
  @usableFromInline package internal(set) var openOthers = 0
  @usableFromInline var shares: LaneShares
  /// Whether the destination works.
  package var health: DestinationHealth
  /// How many prompt retries it may get.
  package var budget: RetryBudget

  package init(
    shares: LaneShares = LaneShares(reserved: 20), health: DestinationHealth = DestinationHealth(),
    budget: RetryBudget = RetryBudget()
  ) {
    self.shares = shares
    self.health = health
    self.budget = budget
  }

  /// What the pool's policy decides by its load and the destination's health. Mutating only so that neither is copied.
  package mutating func decide(
    _ policy: inout ConnectionPoolPolicy, _ load: ConnectionPoolPolicy.Load, now: UInt64
  ) -> ConnectionPoolPolicy.Action {
    policy.decide(load, health, now: now)
  }

  /// Pushes that wait for a stream.
  @inlinable package var count: Int { transactional.count + retries.count + bulk.count }
  @inlinable package var isEmpty: Bool { count == 0 }
  /// Pushes that have a stream.
  @inlinable package var open: Int { openTransactional + openOthers }
  /// All pushes of the destination.
  @inlinable package var held: Int { count + open }

  /// Pushes of the class that wait.
  @inlinable package func count(of sendClass: SendClass) -> Int {
    switch sendClass {
    case .transactional: transactional.count
    case .retry: retries.count
    case .bulk: bulk.count
    }
  }

  /// Puts a push at the end of its class's line.
  @inlinable package mutating func append(_ slot: UInt32, _ sendClass: SendClass) {
    switch sendClass {
    case .transactional: transactional.append(slot)
    case .retry: retries.append(slot)
    case .bulk: bulk.append(slot)
    }
  }

  /// Puts a push in front of its class's line.
  @inlinable package mutating func prepend(_ slot: UInt32, _ sendClass: SendClass) {
    switch sendClass {
    case .transactional: transactional.prepend(slot)
    case .retry: retries.prepend(slot)
    case .bulk: bulk.prepend(slot)
    }
  }

  /// Takes the next push that may have a stream; it counts as open from now on.
  ///
  /// - Parameters:
  ///   - capacity: streams that the destination's connections may have open in all.
  ///   - now: monotonic milliseconds.
  /// - Returns: nil when nothing waits, or nothing that waits may go now.
  @inlinable package mutating func next(capacity: Int, now: UInt64) -> UInt32? {
    if !health.isUndisturbed && open >= health.allowance(capacity: capacity, now: now) {
      return nil
    }
    let mayOthers = openOthers < shares.othersAtMost(of: capacity)
    let chosen = shares.choose(
      transactional: !transactional.isEmpty, retry: mayOthers && !retries.isEmpty,
      bulk: mayOthers && !bulk.isEmpty)
    switch chosen {
    case .transactional:
      openTransactional += 1
      return transactional.popFirst()
    case .retry:
      openOthers += 1
      return retries.popFirst()
    case .bulk:
      openOthers += 1
      return bulk.popFirst()
    case nil: return nil
    }
  }

  /// An open push has its answer, or none will come, or it was not sent after all.
  @inlinable package mutating func ended(_ sendClass: SendClass) {
    if sendClass == .transactional { openTransactional -= 1 } else { openOthers -= 1 }
    precondition(openTransactional >= 0 && openOthers >= 0, "a push ended that was not open")
  }

  /// Takes any push that waits: the partitions are given back.
  package mutating func popAny() -> UInt32? {
    transactional.popFirst() ?? retries.popFirst() ?? bulk.popFirst()
  }

  /// Takes the pushes out that wait and are gone for some reason; the others keep their order. Costs a look at each.
  package mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    transactional.removeAll(where: isGone) + retries.removeAll(where: isGone)
      + bulk.removeAll(where: isGone)
  }

  /// How many more pushes of a class would be sent now; negative when more wait than that.
  ///
  /// - Parameters:
  ///   - credit: streams that may be opened now, over all connections.
  ///   - capacity: streams that may be open in all.
  package mutating func demand(
    for sendClass: SendClass, credit: Int, capacity: Int, now: UInt64
  ) -> Int {
    var free = credit
    if !health.isUndisturbed {
      free = min(free, max(0, health.allowance(capacity: capacity, now: now) - open))
    }
    if sendClass != .transactional {
      free = min(free, max(0, shares.othersAtMost(of: capacity) - openOthers))
    }
    return free - count(of: sendClass)
  }
}
