// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit

extension LocalPipeline {
  /// The processes that are members or standbys of a group, and the HTTP API.
  private var members: [String] {
    ["signer", "feedback"] + senderNames + ["ingest"] + (plan.hasScheduler ? ["scheduler"] : [])
      + (plan.hasAPI ? ["api"] : []) + (plan.subscriptions == nil ? [] : ["webhooks"])
  }

  /// Waits until every process has its partitions, and reports every ten seconds which ones have not.
  ///
  /// - Returns: False if a stop was requested before.
  /// - Throws: If a process does not stay up.
  func waitUntilReady(_ context: ServiceContext) throws -> Bool {
    let start = MonotonicClock.milliseconds()
    var nextReport = start + 10_000
    while !context.signals.isStopping {
      try checkProcesses()
      journal.look()
      let missing = members.filter { !journal.ready.contains($0) }
      if missing.isEmpty {
        try writeAddresses()
        return true
      }
      let now = MonotonicClock.milliseconds()
      if now >= nextReport {
        nextReport = now + 10_000
        context.log(
          LabLog.notAssigned,
          [
            "processes": missing.joined(separator: " "), "seconds": "\((now - start) / 1_000)",
            "logs": "\(plan.folder)/logs",
          ])
      }
      usleep(20_000)
    }
    return false
  }

  /// Throws if a process has ended that cannot be restarted, or that does not stay up, with the end of its log.
  func checkProcesses() throws {
    for state in processes.states where state.pid == nil {
      let isBase = state.name == "broker" || state.name == "simulator"
      guard isBase || state.restarts > 3, let status = state.lastStatus else { continue }
      throw ending(of: state.name, status)
    }
  }

  /// Describes how a process ended and why, as far as the end of its log shows.
  func ending(of name: String, _ status: Int32) -> ServiceFailure {
    let text = (try? File.text(logFile(name))) ?? ""
    let end = text.split(separator: "\n").suffix(5).joined(separator: "\n")
    return ServiceFailure("\(name) ended with status \(status); its log ends with\n\(end)")
  }
}
