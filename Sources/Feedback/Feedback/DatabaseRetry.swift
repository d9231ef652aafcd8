// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit
import Store
import Waiting

/// What is done about a database that does not take a transaction: wait and try again, or give up where waiting does
/// not help.
struct DatabaseRetry {
  private let context: ServiceContext
  private let counters: Counters<FeedbackMetrics>
  private var backoff = Backoff(base: 100, cap: 5_000)
  private var notBefore: UInt64 = 0

  init(_ context: ServiceContext, _ counters: Counters<FeedbackMetrics>) {
    self.context = context
    self.counters = counters
  }

  /// Whether the next attempt is due.
  var isOver: Bool { MonotonicClock.milliseconds() >= notBefore }

  mutating func failed(_ error: StoreError) throws(ServiceFailure) {
    guard error.isTemporary else { throw ServiceFailure("\(error)") }
    counters.add(.databaseRetries)
    if backoff.failures == 0 { counters.add(.databaseFailing) }
    if backoff.failures % 20 == 0 { context.log(FeedbackLog.notWritten, ["error": "\(error)"]) }
    context.status.set("database", obstacle: "the database takes no changes: \(error)")
    let wait = backoff.failed(random: UInt64.random(in: .min ... .max))
    notBefore = MonotonicClock.milliseconds() + wait
  }

  mutating func succeeded() {
    guard backoff.failures > 0 else { return }
    context.log(FeedbackLog.databaseAccepts)
    counters.add(.databaseFailing, -1)
    // There is one of these for each kind of work.
    if counters[.databaseFailing] == 0 { context.status.set("database", obstacle: nil) }
    backoff.succeeded()
  }
}
