// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import Telemetry

/// Something whose series stand on `/metrics`.
public protocol MetricSource: Sendable {
  /// The current values. Asked on the status server's thread.
  var samples: [MetricSample] { get }
}

/// Samples that their owner makes now and then. One thread publishes, any may read.
public final class LatestSamples: MetricSource {
  private let latest = Mutex<[MetricSample]>([])

  public init() {}

  public var samples: [MetricSample] { latest.withLock { $0 } }

  /// These are the samples from now on.
  public func publish(_ samples: [MetricSample]) { latest.withLock { $0 = samples } }
}

/// The counts of all series of one metric, in an order that its owner knows. One thread writes, any may read.
public final class MetricCells: MetricSource {
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  private let metric: Metric
  private let labels: [[String]?]

  /// - Parameter labels: the label values of each series; nil for a place that none has.
  public init(_ declared: some DeclaredMetric, _ labels: [[String]?]) {
    metric = declared.metric
    self.labels = labels
    cells = .allocate(capacity: labels.count)
    for index in labels.indices { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit {
    cells.deinitialize(count: labels.count)
    cells.deallocate()
  }

  /// The recorder that the writer counts with. To be used only as long as this object lives.
  public var recorder: MetricRecorder { MetricRecorder(cells: cells) }

  public var samples: [MetricSample] {
    labels.enumerated().compactMap { index, labels in
      labels.map { MetricSample(metric, $0, cells[index].load(ordering: .relaxed)) }
    }
  }
}

/// The cells of a `MetricCells` for its writer: a pointer and nothing that is counted, for hot paths.
public struct MetricRecorder {
  let cells: UnsafeMutablePointer<Atomic<Int>>

  /// - Parameter index: below the number of series; not checked.
  public func add(_ index: Int) {
    let value = cells[index].load(ordering: .relaxed)
    cells[index].store(value &+ 1, ordering: .relaxed)
  }
}
