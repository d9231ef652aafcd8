// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit

/// Shows errors of the processes on the terminal, because the processes write to files.
struct ErrorRelay {
  /// The maximum number of lines per process shown every ten seconds; the rest is in its log.
  private static let most = 10
  private static let spanMilliseconds: UInt64 = 10_000

  private let pipeline: LocalPipeline
  private var shown: [String: Int] = [:]
  private var spanEnd: UInt64 = 0

  init(_ pipeline: LocalPipeline) { self.pipeline = pipeline }

  /// Shows the errors since the last call.
  mutating func show() {
    pipeline.journal.look()
    let now = MonotonicClock.milliseconds()
    if now >= spanEnd { (shown, spanEnd) = ([:], now + Self.spanMilliseconds) }
    for (process, line) in pipeline.journal.drainErrors() {
      let count = shown[process, default: 0] + 1
      shown[process] = count
      if count <= Self.most { StandardError.line(line) }
      if count == Self.most + 1 {
        StandardError.line("… and more errors of \(process): see \(pipeline.logFile(process))")
      }
    }
  }
}
