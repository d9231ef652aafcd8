// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc
public import ServiceKit
import Synchronization

public struct ChildProgram: Sendable {
  /// The name in messages; unique within its tree.
  public var name: String
  public var path: String
  public var arguments: [String]
  /// The file for standard output and error; nil inherits the parent's.
  public var logFile: String?
  /// The size in bytes above which the log is rotated to `FILE.1`. nil: never.
  public var logLimit: Int?
  /// Whether it is restarted, after a pause, when it ends by itself.
  public var restarts: Bool
  /// Programs with a higher stage are stopped first; those of the same stage together.
  public var stage: Int
  /// Environment variables in addition to the inherited ones, `NAME=value` each.
  public var environment: [String] = []
  /// Whether stop signals stay blocked until the program handles them, however early they come; our programs do.
  public var holdsStop = false

  public init(
    _ name: String, path: String, arguments: [String] = [], logFile: String? = nil,
    restarts: Bool = true, stage: Int = 0
  ) {
    self.name = name
    self.path = path
    self.arguments = arguments
    self.logFile = logFile
    self.restarts = restarts
    self.stage = stage
  }
}

extension ChildProgram {
  /// Truncates the log after a copy if it exceeds its limit. The child appends, so it continues at the new start; what
  /// it writes between the copy and the truncation is lost.
  func boundLog() {
    guard let logFile, let logLimit, let size = File.size(logFile), size > logLimit else { return }
    if let content = try? File.read(logFile) { try? File.write(logFile + ".1", content) }
    truncate(logFile, 0)
  }
}

public struct ChildState: Sendable {
  public let name: String
  /// The process id; nil while it is not running.
  public internal(set) var pid: Int32?
  /// The number of restarts.
  public internal(set) var restarts = 0
  /// The status of each exit: an exit status, or 128 + the signal's number.
  public internal(set) var endings: [Int32] = []
  /// The status of the last exit; nil before the first.
  public var lastStatus: Int32? { endings.last }
}

/// Runs programs as children, restarts those that die with back-off, and stops all of them in order. Any thread may use
/// it.
///
/// If this process dies, its children get SIGTERM: they are children of a thread that lives as long as the tree. They
/// see no `MARTLET_` variables: a child's settings are its arguments.
public final class ProcessTree: Sendable {
  private struct Child {
    let program: ChildProgram
    var state: ChildState
    var isWanted = true
    var startAt: UInt64 = 0
    var startedAt: UInt64 = 0
    var failuresInARow = 0
    var startError: SystemError?
  }

  private let children = Mutex<[Child]>([])
  private let ends = Atomic(false)
  private let wakeup = Wakeup()
  private let log: Logger

  public init(log: Logger) throws(SystemError) {
    self.log = log
    let thread = try LoopThread(name: "processes") { [self] in superviseUntilEnd() }
    thread.detach()
  }

  /// Starts a program; returns when it is running. Throws if it cannot be started.
  public func start(_ program: ChildProgram) throws(SystemError) {
    children.withLock { $0.append(Child(program: program, state: ChildState(name: program.name))) }
    wakeup.signal()
    while true {
      let (begun, error) = children.withLock { all -> (Bool, SystemError?) in
        guard let child = all.first(where: { $0.program.name == program.name }) else {
          return (true, nil)
        }
        return (child.startedAt > 0, child.startError)
      }
      if let error {
        children.withLock { $0.removeAll { $0.program.name == program.name } }
        throw error
      }
      if begun { return }
      usleep(1_000)
    }
  }

  /// The state of every child, in the order of their start.
  public var states: [ChildState] { children.withLock { $0.map(\.state) } }

  public func state(_ name: String) -> ChildState? {
    children.withLock { $0.first { $0.program.name == name }?.state }
  }

  /// Sends a signal to a running child; returns false if it is not running.
  @discardableResult public func signal(_ name: String, _ number: Int32) -> Bool {
    children.withLock { all in
      guard let pid = all.first(where: { $0.program.name == name })?.state.pid else { return false }
      return kill(pid, number) == 0
    }
  }

  /// Stops a child for good; waits up to `timeoutMilliseconds` before killing it. Returns the status of its exit.
  @discardableResult public func stop(
    _ name: String, timeoutMilliseconds: UInt64 = 20_000
  ) -> Int32? {
    end([name], timeoutMilliseconds)
    return state(name)?.lastStatus
  }

  /// Stops all children, the highest stage first, and the tree. Returns those that had to be killed.
  @discardableResult public func stopAll(timeoutMilliseconds: UInt64 = 20_000) -> [String] {
    let killed = stop(stagesFrom: .min, timeoutMilliseconds: timeoutMilliseconds)
    ends.store(true, ordering: .releasing)
    wakeup.signal()
    return killed
  }

  /// Stops the children of this stage and of higher ones for good, the highest first. Returns those that had to be
  /// killed.
  @discardableResult public func stop(
    stagesFrom lowest: Int, timeoutMilliseconds: UInt64 = 20_000
  ) -> [String] {
    var killed: [String] = []
    let stages = Set(children.withLock { $0.map(\.program.stage) }).filter { $0 >= lowest }
    for stage in stages.sorted(by: >) {
      let names = children.withLock { $0.filter { $0.program.stage == stage }.map(\.program.name) }
      killed += end(names, timeoutMilliseconds)
    }
    return killed
  }

  /// Requests the stop, waits, and kills what does not exit; returns the killed ones.
  @discardableResult private func end(_ names: [String], _ timeout: UInt64) -> [String] {
    children.withLock { all in
      for index in all.indices where names.contains(all[index].program.name) {
        all[index].isWanted = false
        if let pid = all[index].state.pid { kill(pid, SIGTERM) }
      }
    }
    let deadline = MonotonicClock.milliseconds() + timeout
    var killed: [String] = []
    while true {
      let alive = children.withLock { all in
        all.filter { names.contains($0.program.name) && $0.state.pid != nil }.map(\.state)
      }
      if alive.isEmpty { return killed }
      if MonotonicClock.milliseconds() >= deadline {
        for child in alive where !killed.contains(child.name) {
          log(LabLog.processStuck, ["process": child.name])
          signal(child.name, SIGKILL)
          killed.append(child.name)
        }
      }
      usleep(5_000)
    }
  }

  // MARK: - The supervising thread

  /// The interval between checks of the sizes of logs, in milliseconds.
  private static let logInterval: UInt64 = 1_000

  private func superviseUntilEnd() {
    var nextLogs: UInt64 = 0
    var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
    while !ends.load(ordering: .acquiring) {
      _ = poll(&entry, 1, 20)
      wakeup.clear()
      children.withLock { all in
        for index in all.indices {
          reap(&all[index])
          startIfDue(&all[index])
        }
        let now = MonotonicClock.milliseconds()
        guard now >= nextLogs else { return }
        nextLogs = now + Self.logInterval
        for child in all { child.program.boundLog() }
      }
    }
  }

  private func reap(_ child: inout Child) {
    guard let pid = child.state.pid else { return }
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid else { return }
    let signal = status & 0x7F
    child.state.endings.append(signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
    child.state.pid = nil
    guard child.isWanted else { return }
    let now = MonotonicClock.milliseconds()
    let ended = signal == 0 ? "status \((status >> 8) & 0xFF)" : "signal \(signal)"
    guard child.program.restarts else {
      log(LabLog.processExited, ["process": child.program.name, "with": ended])
      child.isWanted = false
      return
    }
    child.failuresInARow = now - child.startedAt > 30_000 ? 0 : child.failuresInARow + 1
    let pause = min(UInt64(100) << UInt64(min(child.failuresInARow, 7)), 10_000)
    child.startAt = now + pause
    log(
      LabLog.processRestarts, ["process": child.program.name, "with": ended, "pause": "\(pause)ms"])
  }

  private func startIfDue(_ child: inout Child) {
    guard child.isWanted, child.state.pid == nil, child.startError == nil,
      MonotonicClock.milliseconds() >= child.startAt
    else { return }
    let isFirst = child.startedAt == 0
    do throws(SystemError) {
      child.state.pid = try Self.spawn(child.program)
      child.startedAt = MonotonicClock.milliseconds()
      if !isFirst { child.state.restarts += 1 }
    } catch {
      if isFirst {
        child.startError = error
      } else {
        log(LabLog.processNotStarted, ["process": child.program.name, "error": "\(error)"])
        child.startAt = MonotonicClock.milliseconds() + 10_000
      }
    }
  }

  /// Settings are passed to a child as arguments only: a variable for this program may be unknown to the child.
  private static func spawn(_ program: ChildProgram) throws(SystemError) -> Int32 {
    var output: Int32?
    if let file = program.logFile {
      let opened = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard opened >= 0 else { throw .last("cannot write \(file)") }
      output = opened
    }
    defer { if let output { close(output) } }
    let environment = try ChildProcess.inheritedEnvironment().filter { !$0.hasPrefix("MARTLET_") }
    return try ChildProcess.spawn(
      program.path, program.arguments, environment: environment + program.environment,
      output: output, holdsStop: program.holdsStop)
  }
}
