// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTP2
import ServiceKit
import Synchronization
import Telemetry

/// What one loop counts beside `SenderCounter`, by labels, and how it stands. The loop writes, the status pages read.
final class LoopTelemetry: MetricSource {
  /// The names of the lanes, by place.
  let lanes: [String]
  private let outcomes: MetricCells
  private let errorResponses = MetricCells(SenderMetrics.errorResponses, errorLabels)
  private let streamFailures = MetricCells(SenderMetrics.streamFailures, streamFailureLabels)
  private let apps = AppCounts()
  private let goAways = MetricCells(SenderMetrics.goAways, goAwayLabels)
  private let delivery: LatencyCells
  private let request = LatencyCells(SenderMetrics.request, Environment.allCases.map { ["\($0)"] })
  private let status = Mutex(LoopStatus())
  /// Monotonic milliseconds when somebody looked last.
  private let lookedAt = Atomic<UInt64>(0)

  init(_ lanes: Lanes) {
    self.lanes = lanes.rules.map(\.name)
    outcomes = MetricCells(SenderMetrics.notifications, Self.outcomeLabels(self.lanes))
    delivery = LatencyCells(SenderMetrics.delivery, self.lanes.map { [$0] })
  }

  /// What the loop records with for every push. To be used only as long as this object lives.
  var recorder: Recorder {
    Recorder(
      outcomes: outcomes.recorder, lanes: lanes.count, apps: apps.recorder,
      delivery: delivery.recorder, request: request.recorder)
  }

  /// Pointers, and nothing that is counted.
  struct Recorder {
    let outcomes: MetricRecorder
    let lanes: Int
    let apps: AppCounts.Recorder
    let delivery: LatencyRecorder
    let request: LatencyRecorder

    /// A notification has ended.
    ///
    /// - Parameter app: `AppHash` of its bundle id.
    func ended(
      _ outcome: Outcome, _ lane: Lane, _ environment: Environment, app: UInt64
    ) {
      apps.add(app, outcome)
      let place = (Int(outcome.rawValue) &* lanes &+ Int(lane.place)) &* 2
      outcomes.add(place &+ Int(environment.rawValue))
    }

    /// APNs has answered a push. Times of day in milliseconds.
    func answered(_ environment: Environment, sent: Int64, now: Int64) {
      request.record(now &- sent, in: Int(environment.rawValue))
    }

    /// An answer of APNs has ended a notification. Times of day in milliseconds.
    func settled(_ lane: Lane, created: Int64, now: Int64) {
      delivery.record(now &- created, in: Int(lane.place))
    }
  }

  /// The answer was another than 200.
  func refused(_ reason: Reason?, _ environment: Environment) {
    let place = reason.map { Int($0.rawValue) } ?? Reason.allCases.count
    errorResponses.recorder.add(place * 2 + Int(environment.rawValue))
  }

  /// A credential serves these apps: they have series of their own from now on, as long as there is room.
  func name(apps names: [String]) { apps.name(names) }

  /// A stream ended without an answer.
  func streamFailed(code: UInt32) {
    streamFailures.recorder.add(min(Int(code), HTTP2ErrorCode.names.count))
  }

  func goAway(_ reason: Reason?, isSilent: Bool) {
    goAways.recorder.add(
      reason.map { Int($0.rawValue) } ?? Reason.allCases.count + (isSilent ? 1 : 0))
  }

  /// Whether somebody has looked within the last minute.
  ///
  /// - Parameter now: monotonic milliseconds.
  func isWatched(now: UInt64) -> Bool {
    now < lookedAt.load(ordering: .relaxed) + 60_000
  }

  func publish(_ new: LoopStatus) {
    status.withLock { status in
      let before = status
      status = new
      status.noteBlocked(since: before)
      status.nameApps(since: before)
    }
  }

  /// How the loop stood a second ago at most; ten seconds ago when nobody had looked for a while.
  var latest: LoopStatus {
    lookedAt.store(MonotonicClock.milliseconds(), ordering: .relaxed)
    return status.withLock { $0 }
  }

  var samples: [MetricSample] {
    outcomes.samples + apps.samples + errorResponses.samples + goAways.samples
      + streamFailures.samples + delivery.samples
      + request.samples + latest.samples
  }

  // MARK: Series

  private static func outcomeLabels(_ lanes: [String]) -> [[String]] {
    Outcome.ofPushes.flatMap { outcome in
      lanes.flatMap { lane in
        Environment.allCases.map { environment in ["\(outcome)", lane, "\(environment)"] }
      }
    }
  }

  private static let reasons = Reason.allCases.map(\.name) + ["Other"]

  private static let errorLabels = reasons.flatMap { reason in
    Environment.allCases.map { [reason, "\($0)"] }
  }

  private static let streamFailureLabels = (HTTP2ErrorCode.names + ["Other"]).map { [$0] }

  private static let goAwayLabels = (reasons + ["None"]).map { [$0] }
}
