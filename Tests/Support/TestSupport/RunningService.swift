// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import ServiceKit
import Synchronization

/// A service on a thread of this process; it stops when the last reference goes.
public final class RunningService {
  public let context: ServiceContext
  /// Milliseconds that a stop may take.
  private static let patience: UInt64 = 120_000
  private let end = End()
  private var thread: LoopThread?

  private final class End: Sendable {
    let failure = Mutex<ServiceFailure?>(nil)
    let isReached = Atomic(false)
  }

  /// - Parameter run: the service's.
  public init<Settings: Sendable>(
    _ context: ServiceContext, _ settings: Settings,
    _ run: @escaping @Sendable (Settings, ServiceContext) throws(ServiceFailure) -> Void
  ) throws {
    self.context = context
    let end = end
    thread = try LoopThread(name: context.name) {
      do throws(ServiceFailure) {
        try run(settings, context)
      } catch {
        context.log.failure("\(error)")
        end.failure.withLock { $0 = error }
      }
      end.isReached.store(true, ordering: .releasing)
    }
  }

  deinit { stop() }

  /// Whether it has returned.
  public var hasEnded: Bool { end.isReached.load(ordering: .acquiring) }

  /// What it has failed with.
  public var failure: ServiceFailure? { end.failure.withLock { $0 } }

  public func counter(_ name: String) -> Int {
    context.counters.sums.first { $0.name == name }?.value ?? 0
  }

  /// Asks it to stop, as a first SIGTERM does.
  public func requestStop() { context.signals.requestStop() }

  /// Stops it and waits; returns why it failed, if it did.
  @discardableResult
  public func stop() -> ServiceFailure? {
    requestStop()
    guard eventually(withinMilliseconds: Self.patience, { hasEnded }) else {
      return ServiceFailure("\(context.name) did not stop within \(Self.patience) ms")
    }
    thread.take()?.join()
    return failure
  }

  /// Stops it without waiting for what it has begun, as a second SIGTERM does.
  @discardableResult
  public func stopFast() -> ServiceFailure? {
    context.signals.requestFastShutdown()
    return stop()
  }
}
