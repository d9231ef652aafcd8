// SPDX-License-Identifier: Apache-2.0

/// The pushes of one destination: those that wait, by class, in line or beside it, and how many are open.
///
/// A destination is what connections are pooled by: a credential's pushes to one environment. Every slot that
/// `next` hands out is open until `ended` or `returned` says otherwise.
public struct SendQueue: Sendable {
  public internal(set) var transactional = SlotQueue()
  public internal(set) var retries = SlotQueue()
  public internal(set) var bulk = SlotQueue()
  /// Open streams of the transactional class, and of the other two.
  public internal(set) var openTransactional = 0
  public internal(set) var openOthers = 0
  var shares: LaneShares
  /// Pushes that wait for something else before they may be in line again.
  private var besideTransactional = SlotQueue()
  private var besideRetries = SlotQueue()
  private var besideBulk = SlotQueue()
  /// How many there are.
  public private(set) var beside = 0

  public init(shares: LaneShares = LaneShares(reserved: 20)) { self.shares = shares }

  /// Pushes that wait for a stream.
  public var count: Int { inLine + beside }
  /// Those of them that may be handed out.
  public var inLine: Int { transactional.count + retries.count + bulk.count }
  public var isEmpty: Bool { count == 0 }
  /// Pushes that have a stream.
  public var open: Int { openTransactional + openOthers }
  /// All pushes of the destination.
  public var total: Int { count + open }

  /// Pushes of the class that wait.
  public func count(of sendClass: SendClass) -> Int {
    switch sendClass {
    case .transactional: transactional.count + besideTransactional.count
    case .retry: retries.count + besideRetries.count
    case .bulk: bulk.count + besideBulk.count
    }
  }

  /// Puts a push at the end of its class's line.
  public mutating func append(_ slot: UInt32, _ sendClass: SendClass) {
    switch sendClass {
    case .transactional: transactional.append(slot)
    case .retry: retries.append(slot)
    case .bulk: bulk.append(slot)
    }
  }

  /// Puts a push in front of its class's line.
  public mutating func prepend(_ slot: UInt32, _ sendClass: SendClass) {
    switch sendClass {
    case .transactional: transactional.prepend(slot)
    case .retry: retries.prepend(slot)
    case .bulk: bulk.prepend(slot)
    }
  }

  /// Takes the next push that may have a stream; it counts as open from now on.
  ///
  /// - Parameter capacity: streams that the destination's connections may have open in all.
  /// - Returns: nil when nothing waits, or nothing that waits may go now.
  public mutating func next(capacity: Int) -> UInt32? {
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
  public mutating func ended(_ sendClass: SendClass) {
    if sendClass == .transactional { openTransactional -= 1 } else { openOthers -= 1 }
    precondition(openTransactional >= 0 && openOthers >= 0, "a push ended that was not open")
  }

  // MARK: Beside the line

  /// A push that was handed out has to wait for something else: it is set aside.
  public mutating func putBeside(_ slot: UInt32, _ sendClass: SendClass) {
    ended(sendClass)
    beside += 1
    switch sendClass {
    case .transactional: besideTransactional.append(slot)
    case .retry: besideRetries.append(slot)
    case .bulk: besideBulk.append(slot)
    }
  }

  /// What is beside the line goes to its end.
  public mutating func bringBack() {
    guard beside > 0 else { return }
    beside = 0
    while let slot = besideTransactional.popFirst() { transactional.append(slot) }
    while let slot = besideRetries.popFirst() { retries.append(slot) }
    while let slot = besideBulk.popFirst() { bulk.append(slot) }
  }

  // MARK: Out of it

  /// Takes any push that waits: the partitions are given back.
  public mutating func popAny() -> UInt32? {
    bringBack()
    return transactional.popFirst() ?? retries.popFirst() ?? bulk.popFirst()
  }

  /// Takes out a push that waits, of those that matter least.
  public mutating func popLeast() -> UInt32? {
    if let slot = bulk.popFirst() ?? retries.popFirst() ?? transactional.popFirst() { return slot }
    guard beside > 0 else { return nil }
    beside -= 1
    return besideBulk.popFirst() ?? besideRetries.popFirst() ?? besideTransactional.popFirst()
  }

  /// Takes the pushes out that wait and are gone for some reason; the others keep their order. Costs a look at each.
  public mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    let isBeside = beside > 0
    let gone = removeFromLine(where: isGone)
    guard isBeside else { return gone }
    let others =
      besideTransactional.removeAll(where: isGone) + besideRetries.removeAll(where: isGone)
      + besideBulk.removeAll(where: isGone)
    beside -= others.count
    return gone + others
  }

  private mutating func removeFromLine(where isGone: (UInt32) -> Bool) -> [UInt32] {
    transactional.removeAll(where: isGone) + retries.removeAll(where: isGone)
      + bulk.removeAll(where: isGone)
  }

  /// How many more pushes of a class would be sent now; negative when more wait than that.
  ///
  /// - Parameters:
  ///   - free: pushes that may be opened now.
  ///   - capacity: streams that may be open in all.
  public func demand(for sendClass: SendClass, free: Int, capacity: Int) -> Int {
    guard sendClass != .transactional else { return free - count(of: sendClass) }
    return min(free, max(0, shares.othersAtMost(of: capacity) - openOthers)) - count(of: sendClass)
  }
}
