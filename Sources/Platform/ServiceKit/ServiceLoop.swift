// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc

/// What a thread of a service does between its turns: it says that it lives, and sleeps until somebody wakes it or its
/// time is up. A stop or reload request wakes it.
///
/// Owned by that thread.
public final class ServiceLoop {
  /// Wakes the thread.
  public let wakeup: Wakeup
  private let poller: Poller
  private let heartbeat: Heartbeat?
  private let status: StatusBoard
  private var ready: [ReadyEvent] = []

  /// - Parameter name: the thread's, for its heartbeat; nil for a thread that may stand still.
  public init(
    _ name: String?, _ context: ServiceContext, wakeup: Wakeup = Wakeup()
  ) throws(SystemError) {
    self.wakeup = wakeup
    poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 0, .readable)
    status = context.status
    heartbeat = name.map { context.status.heartbeat($0) }
    context.signals.subscribe(wakeup)
  }

  deinit { if let heartbeat { status.end(heartbeat) } }

  /// Has it wake up when the descriptor is readable, too.
  public func add(_ descriptor: Int32) throws(SystemError) {
    try poller.add(descriptor, token: 1, .readable)
  }

  /// Sleeps at most so many milliseconds; 0 only looks, below 0 there is no limit.
  ///
  /// - Returns: the time (monotonic milliseconds).
  public func wait(_ milliseconds: Int32) -> UInt64 {
    poller.wait(timeoutMilliseconds: milliseconds, into: &ready)
    wakeup.clear()
    return beat()
  }

  /// Sleeps so many milliseconds, at most a thousand, whatever happens: what comes meanwhile is dealt with together.
  public func rest(_ milliseconds: UInt32) { usleep(milliseconds * 1_000) }

  /// Whether a turn that began then is long. If the database fails in one, it is asked nothing more: Kafka's client is to
  /// be asked again before long.
  public static func isLong(_ turn: UInt64) -> Bool {
    MonotonicClock.milliseconds() >= turn + 10_000
  }

  /// Says that the thread lives.
  ///
  /// - Returns: the time (monotonic milliseconds).
  @discardableResult
  public func beat() -> UInt64 {
    let now = MonotonicClock.milliseconds()
    heartbeat?.beat(now)
    return now
  }
}
