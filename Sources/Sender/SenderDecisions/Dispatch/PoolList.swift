// SPDX-License-Identifier: Apache-2.0

/// Pools by their numbers in the order in which they came, each of them once, in memory that is reused.
struct PoolList: Sendable {
  private var pools: [Int32] = []
  private var head = 0
  /// By the pool's number: whether it is in the list.
  private var isMember: [Bool] = []

  var isEmpty: Bool { head == pools.count }

  func contains(_ pool: Int32) -> Bool { Int(pool) < isMember.count && isMember[Int(pool)] }

  /// Takes a pool in, unless it is here.
  mutating func insert(_ pool: Int32) {
    guard !contains(pool) else { return }
    while isMember.count <= Int(pool) { isMember.append(false) }
    isMember[Int(pool)] = true
    pools.append(pool)
  }

  /// Takes the first one out, which may come again at once.
  mutating func popFirst() -> Int32? {
    guard head < pools.count else {
      pools.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    defer { head += 1 }
    isMember[Int(pools[head])] = false
    return pools[head]
  }

  /// Takes all of them out.
  mutating func drain() -> [Int32] {
    let drained = Array(pools[head...])
    for pool in drained { isMember[Int(pool)] = false }
    pools.removeAll(keepingCapacity: true)
    head = 0
    return drained
  }
}
