// SPDX-License-Identifier: Apache-2.0
package import Synchronization
package import Telemetry

/// The names of one kind of loop's counters: an enum whose raw values are 0, 1, 2, …
///
/// `case deadLettered` prints as `dead_lettered`.
package protocol CounterKey: CaseIterable, RawRepresentable, Sendable where RawValue == Int {
  /// A total unless the enum says otherwise.
  var kind: CounterKind { get }
  /// What `/metrics` calls it; nil for what stands there in another form.
  var series: MetricSeries? { get }
}

extension CounterKey {
  package var kind: CounterKind { .total }
}

/// The counters of one loop. Its thread alone writes; any thread may read, at any time, without
/// stopping it.
package final class Counters<Key: CounterKey>: Sendable {
  @usableFromInline nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  private let count: Int

  package init() {
    count = Key.allCases.count
    cells = .allocate(capacity: count)
    for (index, key) in Key.allCases.enumerated() {
      precondition(key.rawValue == index, "raw values of counters are 0, 1, 2, …")
      (cells + index).initialize(to: Atomic(0))
    }
  }

  deinit {
    cells.deinitialize(count: count)
    cells.deallocate()
  }

  /// A load and a store instead of one atomic addition: there is one writer.
  @inlinable package func add(_ key: Key, _ amount: Int = 1) {
    let value = cells[key.rawValue].load(ordering: .relaxed)
    cells[key.rawValue].store(value &+ amount, ordering: .relaxed)
  }

  @inlinable package func set(_ key: Key, _ value: Int) {
    cells[key.rawValue].store(value, ordering: .relaxed)
  }

  @inlinable package subscript(key: Key) -> Int {
    cells[key.rawValue].load(ordering: .relaxed)
  }
}

/// Something whose numbers the board adds up.
package protocol CounterSource: MetricSource {
  /// Name, kind and value of each number, in the order of the line.
  var numbers: [(name: String, kind: CounterKind, value: Int)] { get }
}

extension Counters: CounterSource {
  package var numbers: [(name: String, kind: CounterKind, value: Int)] {
    Key.allCases.map { (SnakeCase.text("\($0)"), $0.kind, self[$0]) }
  }

  package var samples: [MetricSample] {
    Key.allCases.compactMap { $0.series?.sample(self[$0]) }
  }
}
