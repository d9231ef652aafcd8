// SPDX-License-Identifier: Apache-2.0

import Random

/// One turn of the owner: its time, chance, and what comes of it. All that decides is handed this and writes to it.
public struct Turn: Sendable {
  /// Monotonic and wall-clock milliseconds.
  public private(set) var now: UInt64
  public private(set) var wall: Int64
  public private(set) var counts = Counts()
  /// What is to be done, in this order.
  private var actions = ActionQueue()
  private var generator: SeededGenerator

  init(now: UInt64, wall: Int64, seed: UInt64) {
    self.now = now
    self.wall = wall
    generator = SeededGenerator(seed: seed)
  }

  /// The time of all that is told until the next turn begins.
  mutating func begin(now: UInt64, wall: Int64) {
    self.now = now
    self.wall = wall
  }

  /// A random number: of jitter, and of the order in which addresses are tried.
  mutating func chance() -> UInt64 { generator.next() }

  /// This is to be done, after all that was appended before.
  mutating func append(_ action: Action) { actions.append(action) }

  /// A newer provider token of a pool's credential is needed.
  mutating func requestToken(_ pool: Int32) {
    count(.tokenRequests)
    actions.append(.requestToken(pool: pool))
  }

  /// The next action to perform; nil when all are done.
  mutating func nextAction() -> Action? { actions.next() }

  // MARK: Counters

  mutating func count(_ counter: SenderCounter) { counts[counter] += 1 }

  /// A gauge stands here now.
  mutating func set(_ counter: SenderCounter, _ value: Int) { counts[counter] = value }
}
