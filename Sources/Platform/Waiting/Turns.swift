// SPDX-License-Identifier: Apache-2.0

/// Work of several owners that one worker does: each owner in turn gets one step, however much the others want. What one
/// owner wants is done in the order in which it came.
public struct Turns<Owner: Hashable & Sendable, Item: Sendable>: Sendable {
  private var waiting: [Owner: [Item]] = [:]
  /// Owners of what waits; the first one is next.
  private var order: [Owner] = []
  public private(set) var count = 0

  public init() {}

  public var isEmpty: Bool { count == 0 }

  /// Owners of what waits.
  public var owners: Int { order.count }

  /// Adds an item behind those of its owner.
  public mutating func add(_ item: Item, of owner: Owner) {
    insert(item, of: owner, at: waiting[owner]?.count ?? 0)
  }

  /// Gives an item back that is not done: its owner goes on with it at its next turn.
  public mutating func giveBack(_ item: Item, of owner: Owner) {
    insert(item, of: owner, at: 0)
  }

  private mutating func insert(_ item: Item, of owner: Owner, at place: Int) {
    if waiting[owner] == nil { order.append(owner) }
    waiting[owner, default: []].insert(item, at: place)
    count += 1
  }

  /// Takes the first item of the owner whose turn it is.
  public mutating func next() -> (owner: Owner, item: Item)? {
    guard !order.isEmpty else { return nil }
    let owner = order.removeFirst()
    guard var items = waiting.removeValue(forKey: owner), !items.isEmpty else { return nil }
    let item = items.removeFirst()
    count -= 1
    if !items.isEmpty {
      waiting[owner] = items
      order.append(owner)
    }
    return (owner, item)
  }
}
