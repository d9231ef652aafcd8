// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import Synchronization

/// The thread that hears the process's signals and prints the counters line.
///
/// The first SIGTERM or SIGINT asks the service to stop, a second one ends the process at once.
struct Housekeeper: ~Copyable {
  private let end: EndFlag
  private let thread: LoopThread

  /// Made on the main thread before any other thread, so that all inherit the blocked signals.
  ///
  /// - Parameter interval: Milliseconds between counters lines; 0 prints none.
  init(_ context: ServiceContext, reportsEvery interval: Int64) throws(SystemError) {
    let source = try SignalSource([SIGTERM, SIGINT, SIGHUP])
    let poller = try Poller(capacity: 4)
    let end = EndFlag()
    try poller.add(source.fd, token: 0, .readable)
    try poller.add(end.wakeup.fd, token: 1, .readable)
    let watch = SignalWatch(context: context, source: source, poller: poller, end: end)
    thread = try LoopThread(name: "housekeeper") { watch.run(reportsEvery: interval) }
    self.end = end
  }

  /// Prints the last counters line and ends the thread.
  consuming func finish() {
    end.request()
    thread.join()
  }
}

/// Tells the thread that the service has ended.
private final class EndFlag: Sendable {
  let wakeup = Wakeup()
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .acquiring) }

  func request() {
    flag.store(true, ordering: .releasing)
    wakeup.signal()
  }
}

/// What the thread owns.
private struct SignalWatch {
  let context: ServiceContext
  let source: SignalSource
  let poller: Poller
  let end: EndFlag

  func run(reportsEvery interval: Int64) {
    var report = CounterReport(context.counters, startedAt: MonotonicClock.milliseconds())
    var due = MonotonicClock.milliseconds() + UInt64(interval)
    var events: [ReadyEvent] = []
    while !end.isSet {
      let now = MonotonicClock.milliseconds()
      if interval > 0, now >= due {
        printLine(&report, now)
        due = now + UInt64(interval)
      }
      let wait = interval > 0 ? Int32(clamping: due - min(due, now)) : -1
      poller.wait(timeoutMilliseconds: wait, into: &events)
      while let signal = source.next() { take(signal) }
    }
    if interval > 0 { printLine(&report, MonotonicClock.milliseconds()) }
  }

  private func take(_ signal: Int32) {
    if signal == SIGHUP { return context.signals.requestReload() }
    guard !context.signals.isStopping else {
      context.log.warning("ending at once: a second stop signal came")
      _exit(ServiceRunner.failed)
    }
    context.log.info("stopping: finishing what is in flight; a second signal ends at once")
    context.signals.requestStop()
  }

  private func printLine(_ report: inout CounterReport, _ now: UInt64) {
    let text = report.text(now: now)
    if !text.isEmpty { context.log.info("counters \(text)") }
  }
}
