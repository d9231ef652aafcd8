// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The pushes of one destination: those that wait, by class, in line or held, and how many are open.
///
/// A destination is what connections are pooled by: a credential's pushes to one environment. Every slot that
/// `next` hands out is open until `ended` or `hold` says otherwise.
public struct SendQueue: Sendable {
  /// The pushes of one class.
  private struct Line: Sendable {
    var waiting = SlotQueue()
    /// Those that wait for something else before they may be in line again.
    var held = SlotQueue()
  }

  /// By the class's place.
  private var lines = InlineArray<9, Line>(repeating: Line())
  private var shares: LaneShares
  /// The classes with a push in line, as bits by place.
  private var waiting: UInt16 = 0
  /// Those that have a stream, by the class's place.
  private var openByClass = ByClass(repeating: 0)
  /// Pushes that may be handed out.
  public private(set) var inLine = 0
  /// Pushes that have a stream.
  public private(set) var open = 0
  /// The pushes that are held: their apps have to wait.
  public private(set) var held = 0

  public init(shares: LaneShares) {
    self.shares = shares
  }

  /// Pushes that wait for a stream.
  public var count: Int { inLine + held }
  public var isEmpty: Bool { count == 0 }
  /// All pushes of the destination.
  public var total: Int { count + open }

  /// The classes that the lanes behind the first one do not have.
  private static let firstAndRetries: UInt16 =
    1 << UInt16(SendClass.first.place) | 1 << UInt16(SendClass.retry.place)

  /// Streams of the lanes behind the first one.
  public var openOfOthers: Int {
    open - openByClass[Int(SendClass.first.place)] - openByClass[Int(SendClass.retry.place)]
  }
  /// True if pushes of the first lane have a stream or are in line.
  public var hasFirst: Bool {
    openByClass[Int(SendClass.first.place)] > 0 || waiting & 1 << UInt16(SendClass.first.place) != 0
  }
  /// True if pushes of the lanes behind it are in line.
  public var othersWait: Bool { waiting & ~Self.firstAndRetries != 0 }

  /// Pushes of the class that wait.
  public func count(of sendClass: SendClass) -> Int {
    let line = lines[Int(sendClass.place)]
    return line.waiting.count + line.held.count
  }

  /// Puts a push at the end of its class's line.
  public mutating func append(_ slot: UInt32, _ sendClass: SendClass) {
    lines[Int(sendClass.place)].waiting.append(slot)
    noteWaiting(sendClass)
  }

  /// Puts a push in front of its class's line.
  public mutating func prepend(_ slot: UInt32, _ sendClass: SendClass) {
    lines[Int(sendClass.place)].waiting.prepend(slot)
    noteWaiting(sendClass)
  }

  /// The pushes that its lines have memory for.
  var reserved: Int {
    var sum = 0
    for place in 0..<shares.classes {
      sum += lines[place].waiting.ring.count + lines[place].held.ring.count
    }
    return sum
  }

  /// Gives the memory of its lines back, which are empty.
  mutating func releaseMemory() { lines = InlineArray(repeating: Line()) }

  private mutating func noteWaiting(_ sendClass: SendClass) {
    waiting |= 1 << UInt16(sendClass.place)
    inLine += 1
  }

  /// Takes the first one out of a line that may be empty.
  private mutating func popFirst(_ place: Int) -> UInt32? {
    guard let slot = lines[place].waiting.popFirst() else { return nil }
    inLine -= 1
    if lines[place].waiting.isEmpty { waiting &= ~(1 << UInt16(place)) }
    return slot
  }

  /// Takes the next push that may have a stream; it counts as open from now on.
  ///
  /// - Parameters:
  ///   - capacity: streams that the destination's connections may have open in all.
  ///   - others: those that the lanes behind the first one may have.
  /// - Returns: nil when nothing waits, or nothing that waits may go now.
  public mutating func next(capacity: Int, others: Int = .max) -> UInt32? {
    var allowed = shares.allowed(waiting, of: capacity, open: openByClass)
    if others != .max, openOfOthers >= others { allowed &= Self.firstAndRetries }
    guard let chosen = shares.choose(among: allowed) else { return nil }
    let place = Int(chosen.place)
    openByClass[place] += 1
    open += 1
    return popFirst(place)
  }

  /// An open push has its answer, or none will come, or it was not sent after all.
  public mutating func ended(_ sendClass: SendClass) {
    openByClass[Int(sendClass.place)] -= 1
    open -= 1
    precondition(openByClass[Int(sendClass.place)] >= 0, "a push ended that was not open")
  }

  // MARK: Beside the line

  /// A push that was handed out has to wait for something else: it is set aside.
  public mutating func hold(_ slot: UInt32, _ sendClass: SendClass) {
    ended(sendClass)
    held += 1
    lines[Int(sendClass.place)].held.append(slot)
  }

  /// What is held goes to the end of the line.
  public mutating func bringBack() {
    guard held > 0 else { return }
    held = 0
    for place in 0..<shares.classes {
      while let slot = lines[place].held.popFirst() { append(slot, SendClass(place: place)) }
    }
  }

  // MARK: Out of it

  /// Takes any push that waits: the partitions are given back.
  public mutating func popAny() -> UInt32? {
    bringBack()
    for place in 0..<shares.classes {
      if let slot = popFirst(place) { return slot }
    }
    return nil
  }

  /// Takes out a push that waits, of those that matter least.
  public mutating func popLeast() -> UInt32? {
    for place in (0..<shares.classes).reversed() {
      if let slot = popFirst(place) { return slot }
    }
    for place in (0..<shares.classes).reversed() {
      guard let slot = lines[place].held.popFirst() else { continue }
      held -= 1
      return slot
    }
    return nil
  }

  /// Takes the pushes out that wait and are gone for some reason; the others keep their order. Costs a look at each.
  public mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    var gone: [UInt32] = []
    for place in 0..<shares.classes {
      gone += lines[place].waiting.removeAll(where: isGone)
      if lines[place].waiting.isEmpty { waiting &= ~(1 << UInt16(place)) }
    }
    let ofLine = gone.count
    for place in 0..<shares.classes { gone += lines[place].held.removeAll(where: isGone) }
    inLine -= ofLine
    held -= gone.count - ofLine
    return gone
  }

  /// How many more pushes of a class would be sent now; negative when more wait than that.
  ///
  /// - Parameters:
  ///   - free: pushes that may be opened now.
  ///   - capacity: streams that may be open in all.
  ///   - others: those that the lanes behind the first one may have.
  public func demand(
    for sendClass: SendClass, free: Int, capacity: Int, others: Int = .max
  ) -> Int {
    var room = min(free, max(0, shares.room(for: sendClass, of: capacity, open: openByClass)))
    if others != .max, Self.firstAndRetries & 1 << UInt16(sendClass.place) == 0 {
      room = min(room, max(0, others - openOfOthers))
    }
    return room - count(of: sendClass)
  }
}
