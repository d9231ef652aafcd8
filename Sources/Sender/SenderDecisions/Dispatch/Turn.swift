// SPDX-License-Identifier: Apache-2.0

internal import Contract
import Waiting

/// One turn of the owner: its time, chance, and what comes of it. All that decides is handed this and writes to it.
struct Turn: Sendable {
  /// Monotonic and wall-clock milliseconds.
  private(set) var now: UInt64
  private(set) var wall: Int64
  private(set) var counts = Counts()
  /// The actions to perform, from `nextPlace` to `end`, in memory that is reused.
  private var actions: [Action] = []
  private var nextPlace = 0
  private var end = 0
  private var generator: SeededGenerator

  init(now: UInt64, wall: Int64, seed: UInt64) {
    self.now = now
    self.wall = wall
    generator = SeededGenerator(seed: seed)
    actions.reserveCapacity(256)
  }

  /// The time of all that is told until the next turn begins.
  mutating func begin(now: UInt64, wall: Int64) {
    self.now = now
    self.wall = wall
  }

  /// A time of day, in milliseconds since the epoch, as monotonic milliseconds: now at the latest, also if the clock was
  /// set back since.
  func monotonic(of time: Int64) -> UInt64 { now - min(now, UInt64(max(0, wall &- time))) }

  /// A random number: of jitter, and of the order in which addresses are tried.
  mutating func chance() -> UInt64 { generator.next() }

  /// This is to be done, after all that was appended before. Inlined, an action is written where it stays.
  @inline(__always)
  mutating func append(_ action: Action) {
    if end == actions.count { actions.append(action) } else { actions[end] = action }
    end += 1
  }

  /// A newer provider token of a pool's credential is needed.
  ///
  /// - Parameter answer: that says so.
  mutating func requestToken(_ pool: Int32, _ answer: GatewayResponse) {
    count(.tokenRequests)
    append(.requestToken(pool: pool, answer))
  }

  /// The credential of a pool is refused that was not before.
  ///
  /// - Parameters:
  ///   - slot: a push of the app, if that alone may be what is refused.
  ///   - answer: that says so.
  mutating func reportRefusal(_ pool: Int32, app slot: UInt32?, _ answer: GatewayResponse) {
    count(.credentialRefusals)
    append(.reportRefusal(pool: pool, app: slot, answer))
  }

  /// The next action to perform; nil when all are done.
  mutating func nextAction() -> Action? {
    guard nextPlace < end else { return nil }
    let action = actions[nextPlace]
    nextPlace += 1
    if nextPlace == end { (nextPlace, end) = (0, 0) }
    return action
  }

  // MARK: Counters

  mutating func count(_ counter: SenderCounter, _ times: Int = 1) {
    counts.values[counter.rawValue] += times
  }

  /// A gauge stands here now.
  mutating func set(_ counter: SenderCounter, _ value: Int) {
    counts.values[counter.rawValue] = value
  }
}

/// The counters' values, written by the turn.
public struct Counts: Sendable {
  fileprivate var values = InlineArray<64, Int>(repeating: 0)

  init() { precondition(SenderCounter.allCases.count <= values.count) }

  public subscript(_ counter: SenderCounter) -> Int { values[counter.rawValue] }
}
