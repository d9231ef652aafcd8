// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import Telemetry

/// Files that were read again while a process works, and are refused: earlier content is in use. For `/metrics`, and for
/// when to say it. One thread writes.
public final class ReloadStatus: MetricSource {
  /// Apps with a series of their own, as everywhere.
  public static let namedApps = 100
  /// Between two reports of one problem, in milliseconds.
  private static let interval: UInt64 = 3_600_000

  private struct Problem {
    var apps: [String]
    var words: String
    var saidAt: UInt64
  }

  private let metric: Metric
  private let state: Mutex<[String: Problem?]>

  /// - Parameters:
  ///   - declared: a gauge with the labels `file` and `app`.
  ///   - files: in words, such as `credentials`.
  public init(_ declared: some DeclaredMetric, _ files: [String]) {
    metric = declared.metric
    state = Mutex(Dictionary(uniqueKeysWithValues: files.map { ($0, nil) }))
  }

  public var samples: [MetricSample] {
    state.withLock { $0 }.sorted { $0.key < $1.key }.flatMap { file, problem in
      guard let problem else { return [MetricSample(metric, [file, ""], 0)] }
      let apps = problem.apps.isEmpty ? [""] : problem.apps.prefix(Self.namedApps)
      return apps.map { MetricSample(metric, [file, $0], 1) }
    }
  }

  /// Whether a file is to be read again, after `begin` of its watch: of those that are tried again without a change only
  /// one that was refused. The others are in use, and to take them anew has its price.
  public func isDue(_ file: String, _ files: FileWatch, isAsked: Bool) -> Bool {
    isAsked || !files.isRetry || state.withLock { $0[file].flatMap(\.self) != nil }
  }

  /// The file is in use as it is.
  public func accepted(_ file: String) { state.withLock { $0[file] = .some(nil) } }

  /// The file is refused.
  ///
  /// - Parameters:
  ///   - words: what is wrong.
  ///   - apps: those that it would take away; empty when it cannot be used at all.
  ///   - isAsked: an operator's signal, which is answered in any case.
  /// - Returns: whether it is to be said now.
  public func refused(
    _ file: String, _ words: String, taking apps: [String] = [], now: UInt64, isAsked: Bool
  ) -> Bool {
    state.withLock { problems in
      if !isAsked, let known = problems[file].flatMap(\.self), known.words == words,
        now - known.saidAt < Self.interval
      {
        return false
      }
      problems[file] = Problem(apps: apps, words: words, saidAt: now)
      return true
    }
  }
}
