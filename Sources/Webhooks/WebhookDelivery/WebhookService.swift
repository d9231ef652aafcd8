// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
import Kafka
public import ServiceKit
public import Settings
import Synchronization
import Webhooks

/// `martlet-webhooks`: reports outcomes of notifications and changes of device tokens with signed HTTP requests.
///
/// Each endpoint has its own thread, consumer group and connections (`EndpointWorker`), so that one that does not
/// answer delays no other.
public enum WebhookService: Service {
  public static let name = "martlet-webhooks"
  public static let summary =
    "Sends outcomes of notifications and changes of device tokens to HTTPS endpoints, in batches signed as Standard"
    + " Webhooks specifies; repeats what an endpoint does not accept for 24 hours. Start more copies to divide the"
    + " partitions."
  public static let notesCrashes = true
  public static let table = WebhookSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> WebhookSettings {
    try WebhookSettings(values)
  }

  public static func check(_ settings: WebhookSettings, _ context: ServiceContext) -> [Finding] {
    let names = TopicNames(prefix: settings.topicPrefix)
    let count = settings.subscriptions.count
    return KafkaSurvey.run(settings.kafka, .webhooks, names).findings + [
      .ok(.credential, settings.file, count == 1 ? "has one endpoint" : "has \(count) endpoints")
    ]
  }

  public static func run(
    _ settings: WebhookSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = TopicNames(prefix: settings.topicPrefix)
    let sources = EventSource.allCases.filter { source in
      settings.subscriptions.contains { $0.sources.contains(source) }
    }
    let used = sources.map(names.topic) + [names.deadLetters]
    let rights = KafkaRights(of: .webhooks, names) { used.contains($0) }
    guard var cluster = try ClusterView.wait(settings.kafka, rights, of: names, context) else {
      return
    }
    let partitions = settings.subscriptions.reduce(0) { sum, subscription in
      sum + cluster.partitions(of: subscription.sources.map(names.topic))
    }
    cluster.configuration.dividePrefetch(among: partitions)
    let laneBytes = max(16 << 10, min(1 << 20, settings.maxQueuedBytes / max(1, partitions)))
    try start(settings, context, names, cluster, laneBytes: laneBytes)
  }

  /// Runs a thread for each endpoint until all have ended; if one fails, the others stop, too.
  private static func start(
    _ settings: WebhookSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView, laneBytes: Int
  ) throws(ServiceFailure) {
    let failures = WorkerFailures()
    let figures = EndpointFigures(settings.subscriptions.map(\.name))
    context.counters.add(metrics: figures)
    for (index, subscription) in settings.subscriptions.enumerated() {
      failures.begin()
      let worker = { () throws(ServiceFailure) in
        try EndpointWorker(
          subscription, settings, context.memberOfAnotherGroup(), names, cluster,
          EndpointRecorder(figures, index), laneBytes: laneBytes
        ).run()
      }
      do throws(SystemError) {
        let thread = try LoopThread(name: "hook-\(subscription.name)") {
          do throws(ServiceFailure) {
            try worker()
            failures.end(nil)
          } catch {
            context.signals.requestStop()
            failures.end(error)
          }
        }
        thread.detach()
      } catch {
        context.signals.requestStop()
        failures.end(ServiceFailure("\(error)"))
      }
    }
    if let failure = failures.wait() { throw failure }
  }
}

/// The number of running workers, and the first failure.
private final class WorkerFailures: Sendable {
  private let state = Mutex<(running: Int, failure: ServiceFailure?)>((0, nil))
  private let wakeup = Wakeup()

  func begin() { state.withLock { $0.running += 1 } }

  func end(_ failure: ServiceFailure?) {
    state.withLock { state in
      state.running -= 1
      state.failure = state.failure ?? failure
    }
    wakeup.signal()
  }

  /// Waits until all have ended.
  func wait() -> ServiceFailure? {
    guard let poller = try? Poller(capacity: 1),
      (try? poller.add(wakeup.fd, token: 0, .readable)) != nil
    else { return ServiceFailure("no epoll instance is left") }
    var ready: [ReadyEvent] = []
    while state.withLock({ $0.running }) > 0 {
      poller.wait(timeoutMilliseconds: 1_000, into: &ready)
      wakeup.clear()
    }
    return state.withLock { $0.failure }
  }
}

extension TopicNames {
  func topic(_ source: EventSource) -> String {
    switch source {
    case .receipts: receipts
    case .invalidTokens: invalidTokens
    case .devices: devices
    }
  }
}
