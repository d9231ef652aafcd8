// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import ServiceKit
import Synchronization

/// Reads a pipeline's status repeatedly: every second while the page is open, otherwise as often as the history needs.
final class StatusFollower: Sendable {
  /// Milliseconds between two readings while the page is open.
  private static let interval: UInt64 = 1_000
  /// The time after the last request for which the page counts as open, in milliseconds.
  private static let attention: UInt64 = 10_000
  /// Milliseconds between two readings while it is not.
  private static let unwatched = UInt64(StatusHistory.step) * 1_000
  /// The minimum age of the reading from which recent rates are computed, in milliseconds.
  private static let lately: UInt64 = 30_000
  private static let beginning = StatusText.unavailable("The first reading is on its way.")

  private let source: StatusSource
  private let latest = Mutex<(json: String, at: UInt64)>((beginning, 0))
  private typealias Reading = (readings: [ProcessReading], at: UInt64)
  private let lookedAt: Atomic<UInt64>

  init(_ source: StatusSource) {
    self.source = source
    lookedAt = Atomic(MonotonicClock.milliseconds())
  }

  /// The status as JSON; `unavailable` with the cause if there is none. A reading from before a pause does not count.
  var json: String {
    let now = MonotonicClock.milliseconds()
    lookedAt.store(now, ordering: .relaxed)
    let (json, at) = latest.withLock { $0 }
    return now < at + Self.unwatched + Self.attention ? json : Self.beginning
  }

  func run(_ context: ServiceContext) {
    var before: Reading?
    // The start of the recent interval, and the next one.
    var lately: (old: Reading, new: Reading)?
    var history = StatusHistory()
    while !context.signals.isStopping {
      let now = MonotonicClock.milliseconds()
      let isWatched = now < lookedAt.load(ordering: .relaxed) + Self.attention
      let due = before.map { $0.at + (isWatched ? Self.interval : Self.unwatched) } ?? 0
      guard now >= due else {
        usleep(50_000)
        continue
      }
      guard let reading = look(before, lately?.old, &history) else {
        // The delay until the next one would be due.
        usleep(useconds_t(Self.interval * 1_000))
        continue
      }
      before = reading
      if let (_, new) = lately, reading.at >= new.at + Self.lately { lately = (new, reading) }
      lately = lately ?? (reading, reading)
    }
  }

  /// Reads the pages, and returns the values from which the next rates are computed.
  private func look(
    _ before: Reading?, _ lately: Reading?, _ history: inout StatusHistory
  ) -> Reading? {
    do throws(ServiceFailure) {
      let readings = try source.read()
      let at = MonotonicClock.milliseconds()
      let status = PipelineStatus(
        readings, before: before?.readings ?? [], lately: lately?.readings,
        seconds: Double(at - (before?.at ?? at)) / 1_000,
        wall: Double(WallClock.milliseconds()) / 1_000)
      if before != nil { history.note(status) }
      var object = StatusText.object(status)
      object.append("history", history.json)
      publish(String(decoding: JSONValue.object(object).text, as: UTF8.self), at)
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
