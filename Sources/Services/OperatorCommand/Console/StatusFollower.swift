// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import Synchronization

/// Reads a pipeline's status again and again, while somebody looks.
final class StatusFollower: Sendable {
  /// Milliseconds between two readings.
  private static let interval: UInt64 = 1_000
  /// So long after the last look nothing is read any more, in milliseconds.
  private static let attention: UInt64 = 10_000
  private static let beginning = StatusText.unavailable("The first reading is on its way.")

  private let source: StatusSource
  private let latest = Mutex<(json: String, at: UInt64)>((beginning, 0))
  private let lookedAt: Atomic<UInt64>

  init(_ source: StatusSource) {
    self.source = source
    lookedAt = Atomic(MonotonicClock.milliseconds())
  }

  /// The status as JSON; `unavailable` says why there is none. A reading from before a pause is none.
  var json: String {
    let now = MonotonicClock.milliseconds()
    lookedAt.store(now, ordering: .relaxed)
    let (json, at) = latest.withLock { $0 }
    return now < at + Self.attention + Self.interval ? json : Self.beginning
  }

  /// Reads until a stop is requested.
  func run(_ context: ServiceContext) {
    var before: (readings: [ProcessReading], at: UInt64)?
    var due: UInt64 = 0
    while !context.signals.isStopping {
      let now = MonotonicClock.milliseconds()
      guard now >= due, now < lookedAt.load(ordering: .relaxed) + Self.attention else {
        usleep(50_000)
        continue
      }
      due = now + Self.interval
      // After a pause the rates start again: they are of now, not of the pause.
      if let last = before, now >= last.at + Self.attention { before = nil }
      before = look(before)
    }
  }

  /// Reads the pages, and returns the values for the rates of the next time.
  private func look(
    _ before: (readings: [ProcessReading], at: UInt64)?
  ) -> (readings: [ProcessReading], at: UInt64)? {
    do throws(ServiceFailure) {
      let readings = try source.read()
      let at = MonotonicClock.milliseconds()
      let status = PipelineStatus(
        readings, before: before?.readings ?? [],
        seconds: Double(at - (before?.at ?? at)) / 1_000,
        wall: Double(WallClock.milliseconds()) / 1_000)
      publish(StatusText.json(status), at)
      return (readings, at)
    } catch {
      publish(StatusText.unavailable("\(error)"), MonotonicClock.milliseconds())
      return nil
    }
  }

  private func publish(_ json: String, _ at: UInt64) {
    latest.withLock { $0 = (json, at) }
  }
}
