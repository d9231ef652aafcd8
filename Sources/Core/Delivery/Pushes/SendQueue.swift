// SPDX-License-Identifier: Apache-2.0

/// The pushes of one destination: those that wait, by class, in line or beside it, and how many are open.
///
/// A destination is what connections are pooled by: a credential's pushes to one environment. Every slot that
/// `next` hands out is open until `ended` or `putBeside` says otherwise.
public struct SendQueue: Sendable {
  /// The pushes of one class.
  private struct Line: Sendable {
    var waiting = SlotQueue()
    /// Those that wait for something else before they may be in line again.
    var beside = SlotQueue()
    /// Those that have a stream.
    var open = 0
  }

  /// By the class's raw value.
  private var lines = InlineArray<3, Line>(repeating: Line())
  private var shares: LaneShares
  /// How many there are beside the line.
  public private(set) var beside = 0

  public init(shares: LaneShares = LaneShares(reserved: 20)) {
    precondition(SendClass.allCases.count == lines.count)
    self.shares = shares
  }

  private subscript(_ sendClass: SendClass) -> Line {
    @inline(__always) get { lines[Int(sendClass.rawValue)] }
    @inline(__always) _modify { yield &lines[Int(sendClass.rawValue)] }
  }

  /// Pushes that wait for a stream.
  public var count: Int { inLine + beside }
  /// Those of them that may be handed out.
  public var inLine: Int {
    self[.transactional].waiting.count + self[.retry].waiting.count + self[.bulk].waiting.count
  }
  public var isEmpty: Bool { count == 0 }
  /// Pushes that have a stream.
  public var open: Int { self[.transactional].open + openOthers }
  /// Those of them that are not of the transactional class.
  private var openOthers: Int { self[.retry].open + self[.bulk].open }
  /// All pushes of the destination.
  public var total: Int { count + open }

  /// Pushes of the class that wait.
  public func count(of sendClass: SendClass) -> Int {
    self[sendClass].waiting.count + self[sendClass].beside.count
  }

  /// Puts a push at the end of its class's line.
  public mutating func append(_ slot: UInt32, _ sendClass: SendClass) {
    self[sendClass].waiting.append(slot)
  }

  /// Puts a push in front of its class's line.
  public mutating func prepend(_ slot: UInt32, _ sendClass: SendClass) {
    self[sendClass].waiting.prepend(slot)
  }

  /// Takes the next push that may have a stream; it counts as open from now on.
  ///
  /// - Parameter capacity: streams that the destination's connections may have open in all.
  /// - Returns: nil when nothing waits, or nothing that waits may go now.
  public mutating func next(capacity: Int) -> UInt32? {
    let mayOthers = openOthers < shares.othersAtMost(of: capacity)
    let chosen = shares.choose(
      transactional: !self[.transactional].waiting.isEmpty,
      retry: mayOthers && !self[.retry].waiting.isEmpty,
      bulk: mayOthers && !self[.bulk].waiting.isEmpty)
    guard let chosen else { return nil }
    self[chosen].open += 1
    return self[chosen].waiting.popFirst()
  }

  /// An open push has its answer, or none will come, or it was not sent after all.
  public mutating func ended(_ sendClass: SendClass) {
    self[sendClass].open -= 1
    precondition(self[sendClass].open >= 0, "a push ended that was not open")
  }

  // MARK: Beside the line

  /// A push that was handed out has to wait for something else: it is set aside.
  public mutating func putBeside(_ slot: UInt32, _ sendClass: SendClass) {
    ended(sendClass)
    beside += 1
    self[sendClass].beside.append(slot)
  }

  /// What is beside the line goes to its end.
  public mutating func bringBack() {
    guard beside > 0 else { return }
    beside = 0
    for place in lines.indices {
      while let slot = lines[place].beside.popFirst() { lines[place].waiting.append(slot) }
    }
  }

  // MARK: Out of it

  /// Takes any push that waits: the partitions are given back.
  public mutating func popAny() -> UInt32? {
    bringBack()
    for place in lines.indices {
      if let slot = lines[place].waiting.popFirst() { return slot }
    }
    return nil
  }

  /// Takes out a push that waits, of those that matter least.
  public mutating func popLeast() -> UInt32? {
    for place in lines.indices.reversed() {
      if let slot = lines[place].waiting.popFirst() { return slot }
    }
    for place in lines.indices.reversed() {
      guard let slot = lines[place].beside.popFirst() else { continue }
      beside -= 1
      return slot
    }
    return nil
  }

  /// Takes the pushes out that wait and are gone for some reason; the others keep their order. Costs a look at each.
  public mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    var gone: [UInt32] = []
    for place in lines.indices { gone += lines[place].waiting.removeAll(where: isGone) }
    let inLine = gone.count
    for place in lines.indices { gone += lines[place].beside.removeAll(where: isGone) }
    beside -= gone.count - inLine
    return gone
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
