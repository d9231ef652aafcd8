// SPDX-License-Identifier: Apache-2.0
public import EventLoop
public import Kafka
public import Telemetry

/// A compacted topic that a service follows: what is on it at the start, then what is written (`KafkaTable`). A topic
/// that the cluster does not have is empty. Owned by one thread.
public final class FollowedTopic {
  /// So long others wait for what is on it, in milliseconds: a topic that cannot be read must not stop everything.
  private static let patience: UInt64 = 10_000

  public let name: String
  private let table: KafkaTable?
  private var waitsSince: UInt64?
  private var isOverdue = false

  /// - Parameter past: reads only records written within this many milliseconds; nil: all records.
  public init(
    _ name: String, _ cluster: ClusterView, wakeup: Wakeup, since past: Int64? = nil
  ) throws(KafkaError) {
    self.name = name
    // A topic that this user may not see may exist; it is read as soon as it becomes visible.
    let isHidden = cluster.hidden.contains(name)
    if let partitions = cluster.partitions[name] ?? (isHidden ? 1 : nil) {
      table = try KafkaTable(
        cluster.configuration, topic: name, partitions: partitions, wakeup: wakeup, since: past)
    } else {
      table = nil
    }
  }

  /// Whether the cluster has the topic, as far as this user may see.
  public var exists: Bool { table != nil }

  /// Whether everything written before the start has been read.
  public var isCaughtUp: Bool { table?.isCaughtUp ?? true }

  /// Whether others need not wait for it (any more). The first call begins the wait.
  ///
  /// - Parameter event: is logged if it has not been read in time.
  public func isReady(_ now: UInt64, _ log: Logger, orSays event: some LogTable) -> Bool {
    guard let table, !table.isCaughtUp, !isOverdue else { return true }
    let since = waitsSince ?? now
    waitsSince = since
    guard now >= since + Self.patience else { return false }
    isOverdue = true
    log(event, ["topic": name, "error": table.lastError.map { "\($0)" } ?? ""])
    return true
  }

  /// Applies the records that have arrived, as `KafkaTable.pollRecords` does.
  public func follow(
    timeoutMilliseconds: Int32 = 0, forget: () -> Void = {}, _ apply: (KafkaRecord) -> Void
  ) {
    table?.pollRecords(timeoutMilliseconds: timeoutMilliseconds, forget: forget, apply)
  }

  /// The same with each record's key as text, and its value; nil for a tombstone. Waits for nothing.
  public func followEntries(
    forget: () -> Void, _ apply: (_ key: String, _ value: UnsafeRawBufferPointer?) -> Void
  ) {
    table?.poll(timeoutMilliseconds: 0, forget: forget) { key, value in
      apply(String(decoding: key, as: UTF8.self), value)
    }
  }

  public func close() { table?.close() }
}
