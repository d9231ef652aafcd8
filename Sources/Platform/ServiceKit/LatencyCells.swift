// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import Telemetry

/// The latency histograms of all series of one metric. One thread writes, any may read.
public final class LatencyCells: MetricSource {
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  /// The bucket of each time below `LatencyRecorder.tableEnd`.
  private nonisolated(unsafe) let table: UnsafeMutablePointer<UInt8>
  private let metric: Metric
  private let labels: [[String]]

  public init(_ declared: some DeclaredMetric, _ labels: [[String]]) {
    precondition(
      LatencyCounts.bounds.count < LatencyRecorder.sumPlace,
      "the buckets of a series, and its sum, have a cell each")
    metric = declared.metric
    self.labels = labels
    let count = labels.count * LatencyRecorder.stride
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
    table = .allocate(capacity: LatencyRecorder.tableEnd)
    for time in 0..<LatencyRecorder.tableEnd {
      (table + time).initialize(to: UInt8(LatencyCounts.bucket(of: Int64(time))))
    }
  }

  deinit {
    cells.deinitialize(count: labels.count * LatencyRecorder.stride)
    cells.deallocate()
    table.deallocate()
  }

  /// The recorder that the writer uses. To be used only as long as this object lives.
  public var recorder: LatencyRecorder { LatencyRecorder(cells: cells, table: table) }

  public var samples: [MetricSample] {
    labels.enumerated().map { index, labels in
      let series = cells + index * LatencyRecorder.stride
      let counts = (0...LatencyCounts.bounds.count).map {
        series[$0].load(ordering: .relaxed)
      }
      let sum = series[LatencyRecorder.sumPlace].load(ordering: .relaxed)
      return MetricSample(metric, labels, .histogram(LatencyCounts(counts: counts, sum: sum)))
    }
  }
}

/// The cells of a `LatencyCells` for its writer: pointers and nothing that is counted, for hot paths. An observation
/// is one table look-up and two additions.
public struct LatencyRecorder {
  /// Cells of one series: its buckets, and at the end the sum.
  static var stride: Int { 32 }
  static var sumPlace: Int { 31 }
  /// Milliseconds from which on the bucket is searched.
  static var tableEnd: Int { 2_048 }

  let cells: UnsafeMutablePointer<Atomic<Int>>
  let table: UnsafeMutablePointer<UInt8>

  /// - Parameters:
  ///   - milliseconds: negative times, of clocks that were set back, count as none.
  ///   - index: below the number of series; not checked.
  public func record(_ milliseconds: Int64, in index: Int) {
    guard UInt64(bitPattern: milliseconds) < UInt64(Self.tableEnd) else {
      return recordRare(milliseconds, index)
    }
    add(1, index, Int(table[Int(truncatingIfNeeded: milliseconds)]))
    add(Int(truncatingIfNeeded: milliseconds), index, Self.sumPlace)
  }

  func recordRare(_ milliseconds: Int64, _ index: Int) {
    let time = max(0, milliseconds)
    add(1, index, LatencyCounts.bucket(of: time))
    add(Int(time), index, Self.sumPlace)
  }

  func add(_ amount: Int, _ index: Int, _ place: Int) {
    let cell = cells + ((index &<< 5) | place)
    cell.pointee.store(cell.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
