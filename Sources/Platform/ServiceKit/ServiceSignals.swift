// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc
import Synchronization

/// Requests from outside the process: stop (SIGTERM, SIGINT) and reload (SIGHUP).
///
/// Threads that sleep in a poller subscribe a wakeup; then they ask `isStopping` each turn.
public final class ServiceSignals: Sendable {
  private let stopping = Atomic(false)
  private let stopSignal = Atomic<Int32>(SIGTERM)
  private let fastShutdown = Atomic(false)
  private let reloading = Atomic(false)
  private let subscribers = Mutex<[Wakeup]>([])

  public init() {}

  /// True if the service should take no more work, finish what it has, and return.
  public var isStopping: Bool { stopping.load(ordering: .acquiring) }

  /// True if it should not wait for anything any more: commit what is done, leave the rest to be done again, and
  /// return.
  public var isFastShutdown: Bool { fastShutdown.load(ordering: .acquiring) }

  /// Asks the service to stop at once, as a second SIGTERM does.
  public func requestFastShutdown() {
    fastShutdown.store(true, ordering: .releasing)
    stopping.store(true, ordering: .releasing)
    wakeAll()
  }

  /// Asks the service to stop, as SIGTERM does.
  public func requestStop() { requestStop(by: SIGTERM) }

  /// Asks the service to stop because this signal came.
  public func requestStop(by signal: Int32) {
    stopSignal.store(signal, ordering: .relaxed)
    stopping.store(true, ordering: .releasing)
    wakeAll()
  }

  /// The failure of a command that was stopped before its work was done.
  ///
  /// - Parameter done: what it did until then.
  public func interrupted(_ done: String) -> ServiceFailure {
    ServiceFailure("interrupted: \(done)", status: 128 + stopSignal.load(ordering: .relaxed))
  }

  /// Asks the service to read its files again, as SIGHUP does.
  public func requestReload() {
    reloading.store(true, ordering: .releasing)
    wakeAll()
  }

  /// Takes the request to reload; true if there was one since the last call. One thread asks.
  public func consumeReload() -> Bool {
    reloading.exchange(false, ordering: .acquiringAndReleasing)
  }

  /// From now on each request signals the wakeup; a stop that was already requested does at once.
  public func subscribe(_ wakeup: Wakeup) {
    subscribers.withLock { $0.append(wakeup) }
    if isStopping { wakeup.signal() }
  }

  /// Sleeps until a stop is requested; for services whose work is done by other threads.
  public func waitForStop() {
    let wakeup = Wakeup()
    subscribe(wakeup)
    var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
    while !isStopping {
      _ = poll(&entry, 1, -1)
      wakeup.clear()
    }
  }

  private func wakeAll() {
    subscribers.withLock { wakeups in
      for wakeup in wakeups { wakeup.signal() }
    }
  }
}
