// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import Kafka
public import Settings
import Synchronization
public import Telemetry

/// The harness's services for a running service. Any thread may use it.
public struct ServiceContext: Sendable {
  public let name: String
  public let log: Logger
  public let signals: ServiceSignals
  /// The counters that the counters line adds up.
  public let counters: CounterBoard
  /// The state of its membership in its consumer group, for `/metrics`.
  public private(set) var group: GroupFigures
  /// All values, for those who start other processes with them.
  public let values: SettingValues

  /// Which records were in hand when this process crashed earlier.
  public let crashNotes: CrashNotes
  /// True if there are any: asked for every record.
  public let hasCrashed: Bool
  private let deadlyRecords = Counters<CrashCounter>()
  private let shared = Shared()

  /// True if a record crashed this process so often that it is not to be worked on; says so the first time.
  public func isDeadly(_ record: KafkaRecord) -> Bool {
    guard crashNotes.areDeadly(record) else { return false }
    guard isNew("\(record.topic)/\(record.partition)/\(record.offset)") else { return true }
    log(
      ServiceKitLog.recordCrashes,
      ["topic": record.topic, "partition": "\(record.partition)", "offset": "\(record.offset)"])
    return true
  }

  /// The same of what a database keeps of a topic's record (`StoredInHand`).
  ///
  /// - Parameters:
  ///   - identity: tells its value from others.
  ///   - key: the record's.
  public func isDeadly(stored identity: Int64, of topic: String, key: String) -> Bool {
    guard hasCrashed, crashNotes.areDeadly(stored: identity, of: topic) else { return false }
    guard isNew("\(topic) \(identity)") else { return true }
    log(
      ServiceKitLog.entryCrashes,
      ["topic": topic, "key": key, "remedy": "write another record of this key, or a tombstone"])
    return true
  }

  /// Counts a deadly record, unless it was met before: it may be read by several readers, and again after a rebalance.
  private func isNew(_ place: String) -> Bool {
    guard shared.deadly.withLock({ $0.insert(place).inserted }) else { return false }
    deadlyRecords.add(.deadlyRecords)
    return true
  }

  /// The state of its health for its status pages.
  public let status: StatusBoard
  /// Why the process is not ready, as on `/readyz`; empty when it is. One that stops is not.
  var obstacles: [StatusBoard.ReadinessCondition] {
    let stopping = StatusBoard.ReadinessCondition(condition: "stop", reason: "is stopping")
    return status.obstacles + (signals.isStopping ? [stopping] : [])
  }
  /// The rights on Kafka that it lacks.
  public let rights: RightsBoard
  let systemd: SystemdNotifier

  /// Logs an error of a partition that is read, unless one of its kind was logged a moment ago.
  public func report(_ error: KafkaError, as event: some LogTable) {
    let now = MonotonicClock.milliseconds()
    guard let more = shared.readErrors.admit(error, now: now) else { return }
    log(event, ["error": "\(error)", "left_out": more > 0 ? "\(more)" : ""])
  }

  /// Stops the service, which then ends with this failure: for threads beside its own.
  public func fail(_ failure: ServiceFailure) {
    shared.failure.withLock { $0 = $0 ?? failure }
    log(ServiceKitLog.cannotGoOn, ["error": "\(failure)"])
    signals.requestStop()
  }

  /// The failure of such a thread, the first one.
  var failure: ServiceFailure? { shared.failure.withLock { $0 } }

  /// Reports, once, that the service is ready: its group has assigned its partitions.
  public func reportReady() {
    guard !shared.isReady.exchange(true, ordering: .relaxed) else { return }
    status.set("start", obstacle: nil)
    log(ServiceKitLog.ready)
  }

  /// True if that was said.
  public var isReady: Bool { shared.isReady.load(ordering: .relaxed) }

  /// What all copies of the context have in common.
  private final class Shared: Sendable {
    let isReady = Atomic(false)
    let failure = Mutex<ServiceFailure?>(nil)
    let readErrors = ReadErrors()
    /// The places of the deadly records that were met: no more than the notes have.
    let deadly = Mutex<Set<String>>([])
  }

  /// The same for a further consumer group of the process, which has figures of its own.
  public func memberOfAnotherGroup() -> ServiceContext {
    var context = self
    context.group = group.further()
    counters.add(metrics: context.group)
    return context
  }

  /// Also for tests that run a service inside their own process.
  public init(
    name: String, log: Logger, values: SettingValues, crashNotes: CrashNotes = CrashNotes()
  ) {
    self.crashNotes = crashNotes
    hasCrashed = !crashNotes.isEmpty
    status = StatusBoard()
    rights = RightsBoard(log, status)
    systemd = SystemdNotifier()
    self.name = name
    self.log = log
    self.values = values
    signals = ServiceSignals()
    counters = CounterBoard()
    group = GroupFigures()
    counters.add(metrics: group)
    counters.add(metrics: deadlyRecords)
  }
}

enum CrashCounter: Int, MetricTable {
  case deadlyRecords

  var row: MetricRow {
    switch self {
    case .deadlyRecords:
      .counter(
        "martlet_kafka_deadly_records_total",
        event: ServiceKitLog.recordCrashes,
        "Records that were skipped, or became dead letters, because the process had crashed twice with them in hand."
      )
    }
  }
}
