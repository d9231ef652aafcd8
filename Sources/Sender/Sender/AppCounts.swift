// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Synchronization
import Telemetry

/// Outcomes by app: of the apps that credentials name, up to a limit, and of all others together. One loop writes.
final class AppCounts: MetricSource {
  /// Apps with series of their own.
  static let namedApps = 100
  private static let outcomes = Outcome.ofPushes

  private let names = Mutex<[String]>([])
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>
  /// An open-addressing table by hash; 0 is an empty place.
  private nonisolated(unsafe) let places: UnsafeMutablePointer<Entry>

  /// An app's place in the table.
  struct Entry {
    var hash: UInt64 = 0
    var row = 0
  }

  init() {
    let count = (Self.namedApps + 1) * Recorder.stride
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
    places = .allocate(capacity: Recorder.places)
    places.initialize(repeating: Entry(), count: Recorder.places)
  }

  deinit {
    cells.deinitialize(count: (Self.namedApps + 1) * Recorder.stride)
    cells.deallocate()
    places.deallocate()
  }

  /// Gives apps series of their own, as long as there is room. To be called by the loop.
  func name(_ apps: [String]) {
    for app in apps where app != "*" {
      let hash = AppHash.of(app.utf8.span)
      let place = recorder.place(of: hash)
      guard hash != 0, places[place].hash == 0 else { continue }
      let row = names.withLock { names -> Int? in
        guard names.count < Self.namedApps else { return nil }
        names.append(app)
        return names.count
      }
      if let row { places[place] = Entry(hash: hash, row: row) }
    }
  }

  /// What the loop counts with. To be used only as long as this object lives.
  var recorder: Recorder { Recorder(cells: cells, table: places) }

  var samples: [MetricSample] {
    let metric = SenderMetrics.appNotifications.metric
    return (["other"] + names.withLock { $0 }).enumerated().flatMap { row, app in
      Self.outcomes.map { outcome in
        MetricSample(
          metric, [app, "\(outcome)"],
          cells[row * Recorder.stride + Int(outcome.rawValue)].load(ordering: .relaxed))
      }
    }
  }

  /// Pointers, and nothing that is counted.
  struct Recorder {
    fileprivate static let stride = 8
    /// At most half of them are taken.
    fileprivate static let places = 256

    fileprivate let cells: UnsafeMutablePointer<Atomic<Int>>
    fileprivate let table: UnsafeMutablePointer<Entry>

    /// A notification of an app has ended.
    func add(_ app: UInt64, _ outcome: Outcome) {
      let index = table[place(of: app)].row &* Self.stride &+ Int(outcome.rawValue)
      cells[index].store(cells[index].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Where an app stands, or where it would: an empty place has the row of all others.
    fileprivate func place(of hash: UInt64) -> Int {
      var place = Int(truncatingIfNeeded: hash) & (Self.places - 1)
      while table[place].hash != hash, table[place].hash != 0 {
        place = (place &+ 1) & (Self.places - 1)
      }
      return place
    }
  }
}
