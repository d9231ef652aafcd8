// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Settings
import Synchronization
import Telemetry

/// The thread that hears the process's signals, prints the counters line and answers systemd's watchdog.
///
/// The first SIGTERM or SIGINT asks the service to stop, a second one to stop without waiting for anything. When
/// the time for either is up, or with a third one, the process ends as it is: nothing is lost then, and what was
/// done since the last commit is done again.
struct Housekeeper: ~Copyable {
  /// The signals that ask a service to stop or to reload.
  static let signals = [SIGTERM, SIGINT, SIGHUP]

  private let end: EndFlag
  private let thread: LoopThread

  /// Made on the main thread before any other thread, so that all inherit the blocked signals.
  ///
  /// - Parameters:
  ///   - interval: Milliseconds between counters lines; 0 prints none.
  ///   - reloads: SIGHUP asks the service to read its files again. Else it asks for a stop, as the end of a terminal does
  ///     for every command; unless the process was started with SIGHUP ignored, as by nohup(1).
  init(_ context: ServiceContext, reportsEvery interval: Int64, reloads: Bool) throws(SystemError) {
    let hangup: Hangup =
      reloads ? .reloads : SignalSource.isIgnored(SIGHUP) ? .ignored : .stops
    let source = try SignalSource(Self.signals)
    let poller = try Poller(capacity: 4)
    let end = EndFlag()
    try poller.add(source.fd, token: 0, .readable)
    try poller.add(end.wakeup.fd, token: 1, .readable)
    context.signals.subscribe(end.wakeup)
    let bound = UInt64(context.values[CommonSettings.stopTimeout])
    thread = try LoopThread(name: "housekeeper") {
      var watch = SignalWatch(
        context: context, source: source, poller: poller, end: end, bound: bound, hangup: hangup,
        watchdogInterval: context.systemd.watchdogMilliseconds.map { max(1, $0 / 3) },
        nextStatus: context.systemd.isActive ? 0 : .max)
      watch.run(reportsEvery: interval)
    }
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

/// The meaning of SIGHUP to a process.
private enum Hangup: Sendable {
  case reloads, stops, ignored
}

/// The state that the thread owns.
private struct SignalWatch {
  let context: ServiceContext
  let source: SignalSource
  let poller: Poller
  let end: EndFlag
  /// The most time that a stop may take, in milliseconds.
  let bound: UInt64
  let hangup: Hangup
  /// The most time that it may take after a second signal, in milliseconds.
  let fastBound: UInt64 = 2_000
  /// Between two messages to systemd's watchdog, in milliseconds; nil without a watchdog.
  let watchdogInterval: UInt64?
  var nextWatchdog: UInt64 = 0
  /// Between two looks at what to tell systemd, in milliseconds.
  private static let statusInterval: UInt64 = 1_000
  /// The status last reported to systemd.
  var toldStatus = ""
  var nextStatus: UInt64
  /// When the process ends whatever the service does; monotonic milliseconds.
  var endAt: UInt64?

  mutating func run(reportsEvery interval: Int64) {
    var report = CounterReport(context.counters, startedAt: MonotonicClock.milliseconds())
    var due = MonotonicClock.milliseconds() + UInt64(interval)
    var events: [ReadyEvent] = []
    while !end.isSet {
      let now = MonotonicClock.milliseconds()
      // Not every stop is asked for by a signal.
      if endAt == nil, context.signals.isStopping { endAt = now + bound }
      if interval > 0, now >= due {
        printLine(&report, now)
        due = now + UInt64(interval)
      }
      if let endAt, now >= endAt { endNow("the time for a stop is up") }
      feedWatchdog(now)
      tellStatus(now)
      let next = min(
        interval > 0 ? due : .max, endAt ?? .max, watchdogInterval == nil ? .max : nextWatchdog,
        nextStatus)
      let wait = next == .max ? -1 : Int32(clamping: next - min(next, now))
      poller.wait(timeoutMilliseconds: wait, into: &events)
      end.wakeup.clear()
      while let signal = source.next() { handle(signal) }
    }
    if interval > 0 { printLine(&report, MonotonicClock.milliseconds()) }
  }

  /// Only as long as every thread turns: systemd restarts a process that is stuck.
  private mutating func feedWatchdog(_ now: UInt64) {
    guard let watchdogInterval, now >= nextWatchdog else { return }
    nextWatchdog = now + watchdogInterval
    if context.signals.isStopping || context.status.stuck(now: now).isEmpty {
      context.systemd.watchdog()
    }
  }

  private mutating func tellStatus(_ now: UInt64) {
    guard now >= nextStatus else { return }
    nextStatus = now + Self.statusInterval
    tellStatus()
  }

  /// Why the process is not ready, as on `/readyz`.
  private mutating func tellStatus() {
    let reasons = context.obstacles.map(\.reason)
    let words = reasons.isEmpty ? "ready" : "not ready: " + reasons.joined(separator: "; ")
    guard words != toldStatus else { return }
    toldStatus = words
    context.systemd.status(words)
  }

  private mutating func handle(_ signal: Int32) {
    if signal == SIGHUP {
      switch hangup {
      case .reloads: return context.signals.requestReload()
      case .ignored: return
      case .stops: break
      }
    }
    let now = MonotonicClock.milliseconds()
    if context.signals.isFastShutdown { endNow("third stop signal") }
    if context.signals.isStopping {
      context.log(ServiceKitLog.stoppingFast)
      endAt = min(endAt ?? .max, now + fastBound)
      return context.signals.requestFastShutdown()
    }
    context.log(ServiceKitLog.stopping)
    endAt = now + bound
    context.systemd.stopping()
    context.signals.requestStop(by: signal)
    tellStatus()
  }

  private func endNow(_ reason: String) -> Never {
    context.log(ServiceKitLog.exiting, ["reason": reason])
    _exit(ServiceRunner.failed)
  }

  private func printLine(_ report: inout CounterReport, _ now: UInt64) {
    let fields = report.fields(now: now)
    if !fields.isEmpty { context.log(ServiceKitLog.counters, fields) }
  }
}
