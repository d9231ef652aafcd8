// SPDX-License-Identifier: Apache-2.0
import CBrokerPort
import CRdKafka
import Kafka
import Synchronization

/// Holds producers back that a mock cluster has no room for, and readers while it has nothing for them, by leaving their
/// requests unread, and makes requests ask for what it can answer.
///
/// The cluster's thread asks before it acts on a request (`CBrokerIntake`), and says in its log what it did
/// (`BrokerEvent`). Both happen on that thread, so the count is exact when it is asked for.
final class BrokerIntake: Sendable {
  /// A time-out in milliseconds where there is none: it is looked at again when something has changed.
  private static let untilChanged: Int32 = 1_000

  let backlog = Mutex(Backlog())

  /// Watches the cluster of a client that is yet to be made.
  func install(in configuration: borrowing NativeConfiguration) throws(KafkaError) {
    for (name, value) in [("debug", "mock"), ("log_level", "7"), ("log.thread.name", "false")] {
      try configuration.set(name, value)
    }
    configuration.setLog(Self.log, opaque: Unmanaged.passUnretained(self).toOpaque())
  }

  /// The newest versions of the requests that are read here; a newer cluster may know flexible ones. The oldest stay:
  /// librdkafka does not compress where they are missing. Of ListOffsets 3: librdkafka 2.0.2 answers 4 and 5 with an
  /// epoch of 8 bytes instead of 4.
  static func limitVersions(of cluster: OpaquePointer) {
    rd_kafka_mock_set_apiversion(cluster, RequestKind.produce.rawValue, 0, 7)
    rd_kafka_mock_set_apiversion(cluster, RequestKind.fetch.rawValue, 0, 11)
    rd_kafka_mock_set_apiversion(cluster, RequestKind.listOffsets.rawValue, 0, 3)
    rd_kafka_mock_set_apiversion(cluster, RequestKind.metadata.rawValue, 0, 2)
  }

  private static func from(_ context: UnsafeMutableRawPointer) -> BrokerIntake {
    Unmanaged<BrokerIntake>.fromOpaque(context).takeUnretainedValue()
  }

  private static let log: KafkaLog.Callback = { client, severity, facility, message in
    guard severity > 3 else { return KafkaLog.callback(client, severity, facility, message) }
    guard let client, let context = rd_kafka_opaque(client), let message else { return }
    martlet_watch_requests(admits, context)
    guard let event = BrokerEvent(message) else { return }
    from(context).backlog.withLock { $0.note(event) }
    martlet_requests_changed()
  }

  private static let admits: martlet_admits = { context, kind, version, body, length, visit in
    guard let context, let body, let visit else { return 0 }
    let bytes = UnsafeMutableRawBufferPointer(start: body, count: length)
    return from(context).backlog.withLock { backlog in
      let request = RequestBody(bytes, version: version)
      switch RequestKind(rawValue: kind) {
      case .produce: return request.isProduceAdmitted(to: &backlog) ? 0 : BrokerIntake.untilChanged
      case .fetch:
        let now = visit.pointee.now
        let fetch = request.adaptFetch(
          to: backlog, waited: now - visit.pointee.since, apart: now - visit.pointee.note)
        if fetch.brings { visit.pointee.note = now }
        return fetch.wait
      case .listOffsets: request.adaptListOffsets()
      case .metadata: request.adaptMetadata(to: backlog)
      case nil: break
      }
      return 0
    }
  }
}
