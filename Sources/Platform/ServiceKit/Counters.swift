// SPDX-License-Identifier: Apache-2.0
public import Synchronization
public import Telemetry

/// The names of one kind of loop's counters: an enum whose raw values are 0, 1, 2, …
///
/// `case deadLettered` prints as `dead_lettered`.
public protocol CounterKey: CaseIterable, RawRepresentable, Sendable where RawValue == Int {
  /// A total unless the enum says otherwise.
  var kind: CounterKind { get }
  /// The name on `/metrics`; nil for what stands there in another form.
  var series: MetricSeries? { get }
}

extension CounterKey {
  public var kind: CounterKind { .total }
}

/// The counters of one loop. Its thread alone writes; any thread may read, at any time, without
/// stopping it.
public final class Counters<Key: CounterKey>: Sendable {
  @usableFromInline nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  private let count: Int

  public init() {
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
    Key.allCases.map { (SnakeCase.text("\($0)"), $0.kind, self[$0]) }
  }

  public var samples: [MetricSample] {
    Key.allCases.compactMap { $0.series?.sample(self[$0]) }
  }
}
