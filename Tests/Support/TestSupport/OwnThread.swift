// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import Testing

/// Runs each test on its own thread, so that tests that mostly wait run concurrently: on the shared threads, one per
/// core, they would run one after the other.
public struct OwnThread: TestTrait, SuiteTrait, TestScoping {
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    try await withTaskExecutorPreference(ThreadEach()) { try await function() }
  }
}

extension Trait where Self == OwnThread {
  /// See `OwnThread`.
  public static var onOwnThread: Self { OwnThread() }
}

/// Starts a thread for each job of a task: a synchronous test is one job.
private final class ThreadEach: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    do {
      let thread = try LoopThread(name: "test") {
        job.runSynchronously(on: self.asUnownedTaskExecutor())
      }
      thread.detach()
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
