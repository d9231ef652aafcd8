// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit
import Store
import Telemetry

/// How many device tokens the database has in each state, for `/metrics`: counted on a thread of its own, over a
/// connection of its own, until the service is told to stop. Nobody waits for it.
enum DeviceCountReporter {
  private static let intervalMilliseconds: UInt64 = 60_000
  /// A count that took long is followed by a pause of so many times that: it costs the database 2 % of its time at most.
  private static let share: UInt64 = 50

  static func start(
    _ location: String, _ context: ServiceContext,
    intervalMilliseconds: UInt64 = intervalMilliseconds
  ) throws(SystemError) {
    let latest = LatestSamples()
    context.counters.add(metrics: latest)
    let thread = try LoopThread(name: "device-census") {
      guard let loop = try? ServiceLoop(nil, context) else { return }
      while !context.signals.isStopping {
        let begun = MonotonicClock.milliseconds()
        // While the database cannot be read the last count stays.
        let counts = try? TokenStoreReader(location).stateCounts()
        if let counts { latest.publish(samples(counts)) }
        let took = MonotonicClock.milliseconds() - begun
        let rest = pause(after: took, isCounted: counts != nil, atLeast: intervalMilliseconds)
        _ = loop.wait(Int32(clamping: rest))
      }
    }
    thread.detach()
  }

  /// A database that does not answer has nothing to do: it is asked again soon.
  static func pause(after took: UInt64, isCounted: Bool, atLeast interval: UInt64) -> UInt64 {
    isCounted ? max(interval, took * share) : interval
  }

  private static func samples(_ counts: TokenStoreReader.StateCounts) -> [MetricSample] {
    [
      MetricSample(FeedbackMetrics.deviceRows, ["valid"], counts.valid),
      MetricSample(FeedbackMetrics.deviceRows, ["removed"], counts.removed),
      MetricSample(FeedbackMetrics.deviceRows, ["invalid"], counts.invalid),
      MetricSample(FeedbackMetrics.deviceRows, ["suspected"], counts.suspected),
      MetricSample(FeedbackMetrics.wavesHeld, counts.wavesHeld),
    ]
  }
}
