// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Records
import ServiceKit
import Telemetry

/// Runs the programs' checks concurrently and reads their findings.
enum DoctorRound {
  /// Longer than any check takes, because each of its steps has a timeout.
  private static let patienceMilliseconds: UInt64 = 180_000
  /// More than any check writes.
  private static let outputLimit = 4 << 20

  private struct Running {
    let program: String
    let name: String
    let pid: Int32
    let output: Int32
  }

  static func run(_ visits: [DoctorVisit]) -> [(program: String, findings: [Finding])] {
    let deadline = MonotonicClock.milliseconds() + patienceMilliseconds
    let started = visits.map { visit in (visit, start(visit)) }
    return started.map { visit, result in
      let notes = visit.note.map { [$0] } ?? []
      switch result {
      case .success(nil): return (visit.program, notes)
      case .success(let running?): return (visit.program, notes + finish(running, deadline))
      case .failure(let error):
        let finding = Finding.error(
          .settings, visit.name, "\(error)",
          remedy: "install the programs in one folder")
        return (visit.program, notes + [finding])
      }
    }
  }

  private static func start(_ visit: DoctorVisit) -> Result<Running?, SystemError> {
    guard let arguments = visit.arguments else { return .success(nil) }
    let pipe: (output: Int32, input: Int32)
    do throws(SystemError) { pipe = try ChildPipe.open() } catch { return .failure(error) }
    defer { close(pipe.input) }
    do throws(SystemError) {
      // This process's own settings file is not the programs'.
      let environment = try ChildProcess.inheritedEnvironment().filter {
        !$0.hasPrefix("MARTLET_CONFIG=")
      }
      let pid = try ChildProcess.spawn(
        ChildProcess.sibling(visit.executable), visit.command + arguments,
        environment: environment, output: pipe.input)
      return .success(
        Running(program: visit.program, name: visit.name, pid: pid, output: pipe.output))
    } catch {
      close(pipe.output)
      return .failure(error)
    }
  }

  private static func finish(_ running: Running, _ deadline: UInt64) -> [Finding] {
    let (output, status) = result(of: running.pid, running.output, until: deadline)
    guard let output else {
      return [failure(running, "the check did not end in \(patienceMilliseconds / 1_000) s")]
    }
    let lines = output.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
    return findings(lines, running, status)
  }

  /// Reads what a child writes, closes its pipe, and waits for its end.
  ///
  /// - Returns: the output, nil if its end does not come in time, and the child's status.
  static func result(
    of pid: Int32, _ output: Int32, until deadline: UInt64
  ) -> (output: [UInt8]?, status: Int32) {
    let content = read(output, until: deadline)
    // A child that writes more than is read would wait for its reader for ever.
    if (content?.count ?? .max) >= outputLimit { kill(pid, SIGKILL) }
    close(output)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return (content, status)
  }

  /// Reads to the end or the limit; returns nil if that does not come in time.
  private static func read(_ descriptor: Int32, until deadline: UInt64) -> [UInt8]? {
    var content: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while content.count < outputLimit {
      let now = MonotonicClock.milliseconds()
      guard now < deadline else { return nil }
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, Int32(clamping: deadline - now)) > 0 else { continue }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count == 0 { return content }
      if count > 0 { content.append(contentsOf: piece[..<count]) }
    }
    return content
  }

  private static func findings(
    _ lines: [String], _ running: Running, _ status: Int32
  ) -> [Finding] {
    let parser = JSONParser()
    let findings = lines.compactMap { FindingText.finding($0, parser) }
    let code = status >> 8 & 0xFF
    let isComplete = status & 0x7F == 0 && code <= ServiceRunner.misconfigured && !findings.isEmpty
    guard !isComplete else { return findings }
    let last = lines.last { FindingText.finding($0, parser) == nil } ?? ""
    return findings + [failure(running, "the check failed: \(last.prefix(300))")]
  }

  private static func failure(_ running: Running, _ words: String) -> Finding {
    .error(.settings, running.name, words, remedy: "run \(running.name) --check by itself")
  }
}
