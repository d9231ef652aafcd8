// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import LabCommand
import SenderDecisions
import ServiceKit
import Telemetry

/// Stops processes, and records how each one must end.
extension ChaosRig {
  /// Kills a process with SIGKILL; it is restarted.
  func kill(_ name: String) throws { try end(name, SIGKILL, 128 + SIGKILL) }

  /// Stops a process with SIGTERM, and waits for its end; it is restarted.
  ///
  /// - Parameter isFast: Whether a second signal follows, after which the process must end within seconds.
  func restart(_ name: String, isFast: Bool = false) throws {
    let before = pipeline.processes.state(name)?.endings.count ?? 0
    try end(name, SIGTERM, 0)
    func hasEnded() -> Bool { pipeline.processes.state(name)?.endings.count ?? 0 > before }
    if isFast {
      // Two signals at the same time would count as one.
      try pump(50)
      pipeline.processes.signal(name, SIGTERM)
    }
    let limit: UInt64 = isFast ? 10 : 30
    let ended = try pump(until: hasEnded, within: limit * 1_000)
    if !ended { problem("\(name) did not end within \(limit) s of SIGTERM") }
  }

  private func end(_ name: String, _ signal: Int32, _ ending: Int32) throws {
    // Its restart after the last fault may still be pending.
    let runs = try pump(until: { isRunning(name) }, within: 60_000)
    guard runs, pipeline.processes.signal(name, signal) else {
      return problem("\(name) does not run")
    }
    recordFault("signal \(signal) to \(name)")
    expectedEndings[name, default: []].append(ending)
    faults += 1
  }

  func isRunning(_ name: String) -> Bool { pipeline.processes.state(name)?.pid != nil }

  func signal(_ name: String, _ number: Int32) {
    recordFault("signal \(number) to \(name)")
    pipeline.processes.signal(name, number)
    if number != SIGCONT { faults += 1 }
  }

  /// Suspends every process for a while, and the suite as well: nothing is produced or read meanwhile.
  func suspendAll(milliseconds: UInt64) {
    let names = pipeline.processes.states.filter { $0.pid != nil }.map(\.name)
    countFault("every process is suspended")
    for name in names { pipeline.processes.signal(name, SIGSTOP) }
    usleep(UInt32(milliseconds) * 1_000)
    for name in names { pipeline.processes.signal(name, SIGCONT) }
  }

  /// Records a fault that is not a signal.
  func countFault(_ text: String) {
    recordFault(text)
    faults += 1
  }

  /// Waits until a process that has been started has partitions.
  func awaitPartitions(of name: String) throws {
    let hasJoined = try pump(
      until: { occurrences(name, ServiceKitLog.partitionsAssigned) > 0 }, within: 60_000)
    if !hasJoined { problem("\(name) got no partitions within 60 s") }
  }

  func occurrences(_ name: String, _ event: some LogTable) -> Int {
    lines(of: name, event).count
  }

  private func lines(of name: String, _ event: some LogTable) -> [Substring] {
    logText(name).split(separator: "\n").filter { $0.contains(event.rawValue) }
  }

  /// The pushes whose answers did not come while a sender had their partitions, as the senders say.
  var leftUnderWay: Int {
    allSenders.flatMap { lines(of: $0, SenderLog.leftUnderWay) }.reduce(0) {
      $0 + ($1.split(separator: "pushes=").last.flatMap { Int($0) } ?? 0)
    }
  }

  /// Stops a process for good; it must exit cleanly. One that was killed is restarted before.
  func stopForGood(_ name: String) throws {
    let runs = try pump(until: { isRunning(name) }, within: 60_000)
    guard runs else { return problem("\(name) does not run") }
    expectedEndings[name, default: []].append(0)
    let states = pipeline.processes
    // The tree waits for the end, while the load must go on.
    let waiter = try LoopThread(name: "stop") { _ = states.stop(name, timeoutMilliseconds: 30_000) }
    let hasEnded = try pump(until: { states.state(name)?.pid == nil }, within: 31_000)
    waiter.join()
    if !hasEnded { problem("\(name) did not end within 30 s of SIGTERM") }
  }

  /// Compares how processes ended with what was done to them.
  func checkEndings() {
    for state in pipeline.processes.states {
      let expected = expectedEndings[state.name] ?? []
      guard state.endings != expected else { continue }
      problem("\(state.name) ended with \(state.endings) instead of \(expected)")
    }
  }

  /// Stops the services, which must exit cleanly; broker and gateway keep running for the audit.
  func stopServices() {
    for state in pipeline.processes.states
    where state.pid != nil && state.name != "broker" && state.name != "simulator" {
      expectedEndings[state.name, default: []].append(0)
    }
    let killed = pipeline.processes.stop(stagesFrom: 2)
    for name in killed { problem("\(name) had to be killed at the end") }
  }
}
