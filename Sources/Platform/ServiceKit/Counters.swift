// SPDX-License-Identifier: Apache-2.0
public import Synchronization
public import Telemetry

/// The counters of one loop: a cell for each case of a table, which its raw value 0, 1, 2, … addresses. Its thread alone
/// writes; any thread may read, at any time, without stopping it. `case deadLettered` prints as `dead_lettered`.
public final class Counters<Key: MetricTable>: Sendable {
  @usableFromInline nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  private let rows = Key.allCases.map(\.row)

  public init() {
    cells = .allocate(capacity: rows.count)
    for (index, key) in Key.allCases.enumerated() {
      precondition(key.rawValue == index, "raw values of counters are 0, 1, 2, …")
      (cells + index).initialize(to: Atomic(0))
    }
  }

  deinit {
    cells.deinitialize(count: rows.count)
    cells.deallocate()
  }

  /// A load and a store instead of one atomic addition: there is one writer.
  @inlinable public func add(_ key: Key, _ amount: Int = 1) {
    let value = cells[key.rawValue].load(ordering: .relaxed)
    cells[key.rawValue].store(value &+ amount, ordering: .relaxed)
  }

  @inlinable public func set(_ key: Key, _ value: Int) {
    cells[key.rawValue].store(value, ordering: .relaxed)
  }

  @inlinable public subscript(key: Key) -> Int {
    cells[key.rawValue].load(ordering: .relaxed)
  }
}

/// Something whose numbers the board adds up.
public protocol CounterSource: MetricSource {
  /// Name, kind and value of each number, in the order of the line.
  var numbers: [(name: String, kind: CounterKind, value: Int)] { get }
}

extension Counters: CounterSource {
  public var numbers: [(name: String, kind: CounterKind, value: Int)] {
    zip(Key.allCases, rows).compactMap { key, row in
      row.kind.map { (SnakeCase.text("\(key)"), $0, self[key]) }
    }
  }

  public var samples: [MetricSample] {
    zip(Key.allCases, rows).compactMap { $1.sample(self[$0]) }
  }
}
