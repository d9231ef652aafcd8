// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Synchronization
public import Telemetry

/// All counters of a process. Numbers of the same name, from several loops, are added; of peaks the highest counts.
public final class CounterBoard: MetricSource {
  private let sources = Mutex<[any CounterSource]>([])
  private let metrics = Mutex<[any MetricSource]>([])

  public func add(_ source: any CounterSource) {
    sources.withLock { $0.append(source) }
  }

  /// Adds what stands on `/metrics` only.
  public func add(metrics source: any MetricSource) {
    metrics.withLock { $0.append(source) }
  }

  public var samples: [MetricSample] {
    sources.withLock { $0 }.flatMap(\.samples) + metrics.withLock { $0 }.flatMap(\.samples)
  }

  /// The sums, in the order in which names first appeared.
  public var sums: [(name: String, kind: CounterKind, value: Int)] {
    let all = sources.withLock { $0 }
    var sums: [(name: String, kind: CounterKind, value: Int)] = []
    var places: [String: Int] = [:]
    for (name, kind, value) in all.flatMap(\.numbers) {
      if let place = places[name] {
        sums[place].value =
          kind == .peak ? max(sums[place].value, value) : sums[place].value + value
      } else {
        places[name] = sums.count
        sums.append((name, kind, value))
      }
    }
    return sums
  }
}

/// The line of counters: remembers the last one's values for the rates.
struct CounterReport {
  private let board: CounterBoard
  private var previous: [String: Int] = [:]
  private var previousTime: UInt64

  init(_ board: CounterBoard, startedAt now: UInt64) {
    self.board = board
    previousTime = now
  }

  /// Empty when the process counts nothing. Ends with the process's resident memory.
  mutating func fields(now: UInt64) -> [LogEvent.Field] {
    let sums = board.sums
    guard !sums.isEmpty else { return [] }
    let entries = sums.map { sum in
      CounterLine.Entry(
        name: sum.name, kind: sum.kind, value: sum.value, previous: previous[sum.name] ?? 0)
    }
    let fields = CounterLine.fields(entries, milliseconds: Int64(now - previousTime))
    previous = Dictionary(uniqueKeysWithValues: sums.map { ($0.name, $0.value) })
    previousTime = now
    return fields + ResidentMemory.fields
  }
}

/// The memory that the process holds now.
private enum ResidentMemory {
  /// `resident=45MiB`, or nothing where /proc is missing. The second number of statm counts pages.
  static var fields: [LogEvent.Field] {
    guard let bytes = try? File.read("/proc/self/statm"),
      let text = String(validating: bytes, as: UTF8.self)
    else { return [] }
    let words = text.split(separator: " ")
    guard words.count > 1, let pages = Int(words[1]) else { return [] }
    return [("resident", .text("\((pages * Int(sysconf(Int32(_SC_PAGESIZE)))) >> 20)MiB"))]
  }
}
