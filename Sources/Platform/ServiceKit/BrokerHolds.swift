// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Kafka
import Telemetry

/// The counters of brokers that hold a process back.
enum HoldCounter: Int, MetricTable {
  case throttledMilliseconds

  var row: MetricRow {
    switch self {
    case .throttledMilliseconds:
      .counter(
        "martlet_kafka_throttled_seconds_total", isMilliseconds: true,
        event: ServiceKitLog.brokerDelays,
        "Time that brokers have delayed answers to this process because a quota of its Kafka user or client id was used up."
      )
    }
  }
}

/// Says what holds a process back although nothing fails: a quota, and a transaction that another producer has left
/// open. Owned by the thread of `PartitionWatch`.
struct BrokerHolds {
  private let log: Logger
  private let counters = Counters<HoldCounter>()
  private var throttled = 0
  private var quota = ProblemReminder(quiet: 0)
  /// Most transactions end within this time.
  private var transaction = ProblemReminder(quiet: 10_000)

  init(_ context: ServiceContext) {
    log = context.log
    context.counters.add(counters)
  }

  /// To be called every some seconds.
  ///
  /// - Parameters:
  ///   - total: milliseconds that brokers have delayed answers since the process started.
  ///   - now: monotonic milliseconds.
  mutating func turn(
    throttled total: Int, by broker: Int32?, _ held: GroupFigures.Held?, now: UInt64
  ) {
    let grown = total - throttled
    throttled = total
    if grown > 0 { counters.add(.throttledMilliseconds, grown) }
    sayThrottled(grown, broker, now)
    sayHeld(held, now)
  }

  private mutating func sayThrottled(_ grown: Int, _ broker: Int32?, _ now: UInt64) {
    switch quota.step(isFailing: grown > 0, now: now) {
    case .nothing: break
    case .report:
      log(
        ServiceKitLog.brokerDelays,
        [
          "broker": broker.map { "\($0)" } ?? "", "milliseconds": "\(grown)",
          "remedy":
            "raise the quota of this Kafka user or client id (producer_byte_rate, consumer_byte_rate,"
            + " request_percentage; kafka-configs.sh --describe --entity-type users shows it)",
        ])
    case .reportResolved: log(ServiceKitLog.noBrokerDelays)
    }
  }

  private mutating func sayHeld(_ held: GroupFigures.Held?, _ now: UInt64) {
    switch transaction.step(isFailing: held != nil, now: now) {
    case .nothing: break
    case .report:
      guard let held else { return }
      log(
        ServiceKitLog.openTransaction,
        [
          "partition": "\(held.partition)", "offset": "\(held.offset)",
          "seconds": "\(held.milliseconds / 1_000)",
          "remedy":
            "the producer has to commit or abort it, or the broker does after its transaction.timeout.ms;"
            + " kafka-transactions.sh find-hanging, and abort, end one that stays",
        ])
    case .reportResolved: log(ServiceKitLog.transactionEnded)
    }
  }
}
