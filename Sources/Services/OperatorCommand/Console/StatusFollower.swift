// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPClient
import ServiceKit
import Synchronization

/// Reads a pipeline's status again and again, while somebody looks.
final class StatusFollower: Sendable {
  /// Milliseconds between two readings.
  private static let interval: UInt64 = 1_000
  /// So long after the last look nothing is read any more, in milliseconds.
  private static let attention: UInt64 = 10_000

  private let source: StatusSource
  private let latest = Mutex(#"{"waiting":"The first reading is on its way."}"#)
  private let lookedAt: Atomic<UInt64>

  init(_ source: StatusSource) {
    self.source = source
    lookedAt = Atomic(MonotonicClock.milliseconds())
  }

  /// The status as JSON; `waiting` says why there is none.
  var json: String {
    lookedAt.store(MonotonicClock.milliseconds(), ordering: .relaxed)
    return latest.withLock { $0 }
  }

  /// Reads until a stop is requested.
  func run(_ context: ServiceContext) {
    let client = HTTPClient(timeoutMilliseconds: 3_000)
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
      if let last = before, now >= last.at + 3 * Self.interval { before = nil }
      before = look(client, before)
    }
  }

  /// What was read, for the rates of the next time.
  private func look(
    _ client: HTTPClient, _ before: (readings: [ProcessReading], at: UInt64)?
  ) -> (readings: [ProcessReading], at: UInt64)? {
    do throws(ServiceFailure) {
      let readings = try source.read(client)
      let at = MonotonicClock.milliseconds()
      let status = PipelineStatus(
        readings, before: before?.readings ?? [],
        seconds: Double(at - (before?.at ?? at)) / 1_000,
        wall: Double(WallClock.milliseconds()) / 1_000)
      let json = StatusText.json(status)
      latest.withLock { $0 = json }
      return (readings, at)
    } catch {
      let json = StatusText.waiting("\(error)")
      latest.withLock { $0 = json }
      return nil
    }
  }
}
