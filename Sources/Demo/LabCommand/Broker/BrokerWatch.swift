// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import ServiceKit
import Telemetry

/// Publishes the broker's counters, and reports when the broker runs out of space.
final class BrokerWatch {
  private let broker: EmbeddedBroker
  private let context: ServiceContext
  private let counters = Counters<BrokerMetrics>()
  private var problem: String?
  private let wakeup = Wakeup()

  init(_ broker: EmbeddedBroker, _ context: ServiceContext) {
    self.broker = broker
    self.context = context
    context.counters.add(counters)
    context.signals.subscribe(wakeup)
  }

  /// Checks until the process is asked to stop.
  func run(everyMilliseconds interval: Int64) {
    var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
    while !context.signals.isStopping {
      look()
      _ = poll(&entry, 1, Int32(interval))
    }
  }

  func look() {
    counters.set(.records, Int(clamping: broker.records))
    let found = broker.storageProblem
    counters.set(.full, found == nil ? 0 : 1)
    if let found, problem == nil { context.log(LabLog.noSpace, ["reason": found]) }
    if found == nil, problem != nil { context.log(LabLog.spaceAgain) }
    problem = found
  }
}
