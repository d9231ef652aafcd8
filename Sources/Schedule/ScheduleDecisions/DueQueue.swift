// SPDX-License-Identifier: Apache-2.0

/// Numbers ordered by time: a binary heap.
struct DueQueue: Sendable {
  struct Item: Equatable, Sendable {
    let due: Int64
    let slot: Int
    /// Distinguishes an entry from a later one in the same slot.
    let serial: UInt64
  }

  private var items: [Item] = []

  var first: Item? { items.first }

  mutating func insert(_ item: Item) {
    items.append(item)
    var index = items.count - 1
    while index > 0, items[index].due < items[(index - 1) / 2].due {
      items.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func removeFirst() {
    items.swapAt(0, items.count - 1)
    items.removeLast()
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < items.count && items[child].due < items[least].due { least = child }
      if least == index { return }
      items.swapAt(index, least)
      index = least
    }
  }
}
