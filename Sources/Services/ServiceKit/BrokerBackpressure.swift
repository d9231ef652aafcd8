// SPDX-License-Identifier: Apache-2.0
import Delivery
public import EventLoop
import Glibc
public import Kafka
import Synchronization

/// Backpressure on producers to the embedded broker while the consumers of their topics are behind.
///
/// The embedded broker silently drops the oldest records of a full partition, so a producer must not write more than
/// the consumer group can still read. A separate thread reads the committed offsets of the groups every 50 ms while
/// much is unread; the owner asks its producer (`isThrottled`) before it takes more input. A real cluster keeps its
/// records: there producers have no gate.
public final class BrokerBackpressure: ProducerGate {
  /// A topic that is written and the group that reads it.
  public struct Watched: Sendable {
    public let topic: String
    /// nil: a table, of which everything is kept. When it is full, that is for good.
    public let group: String?

    public init(topic: String, group: String?) {
      self.topic = topic
      self.group = group
    }
  }

  /// Bytes that may be on their way to the broker: the part of a partition that the gates leave free
  /// covers it even if all of it goes to one partition.
  public static let outstandingLimit = 1 << 20

  /// Less than this in a partition needs no asking.
  private static let harmless = BacklogGate.embeddedCapacity / 4

  private let watched: [Watched]
  /// The producer's topics of the same places.
  private let topics: [KafkaTopic]
  private let partitions: [Int]
  private let outstandingLimit: Int
  private let log: Logger?
  private var gates: [BacklogGate]
  private let inbox: Mailbox<[[Int64]]>
  private let state: WatchState

  /// Gives a producer its gate, on the embedded broker.
  ///
  /// - Parameters:
  ///   - counts: of partitions of each watched topic; nil asks the broker, and throws when it is not there.
  ///   - outstandingLimit: bytes that the producer may have had no answer for.
  ///   - wakeup: signalled when the readers have moved.
  ///   - log: hears of a table that is full.
  public static func install(
    on producer: KafkaProducer, _ configuration: KafkaConfiguration, _ watched: [Watched],
    counts: [String: Int]? = nil, outstandingLimit: Int = outstandingLimit, wakeup: Wakeup,
    log: Logger? = nil
  ) throws {
    guard configuration.isEmbeddedBroker else { return }
    let counts = try counts ?? ask(configuration)
    let topics = try watched.map { try producer.topic(known: $0.topic) }
    producer.gate = try BrokerBackpressure(
      configuration, watched, topics, partitions: watched.map { counts[$0.topic] ?? 0 },
      outstandingLimit: outstandingLimit, wakeup: wakeup, log: log)
  }

  private init(
    _ configuration: KafkaConfiguration, _ watched: [Watched], _ topics: [KafkaTopic],
    partitions: [Int], outstandingLimit: Int, wakeup: Wakeup, log: Logger?
  ) throws {
    self.watched = watched
    self.topics = topics
    self.partitions = partitions
    self.outstandingLimit = outstandingLimit
    self.log = log
    gates = zip(watched, partitions).map {
      BacklogGate(partitions: $1, mode: $0.group == nil ? .table : .consumed)
    }
    let inbox = Mailbox<[[Int64]]>(wakeup: wakeup)
    let state = WatchState()
    self.inbox = inbox
    self.state = state
    let thread = try LoopThread(name: "backpressure") {
      BacklogWatch(configuration, watched, partitions, inbox, state).run()
    }
    thread.detach()
  }

  deinit { state.end() }

  private static func ask(_ configuration: KafkaConfiguration) throws -> [String: Int] {
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    return try admin.partitionCounts(timeoutMilliseconds: 10_000)
  }

  public func acknowledged(_ topic: KafkaTopic, partition: Int32, offset: Int64, bytes: Int) {
    guard let index = topics.firstIndex(of: topic), Int(partition) < partitions[index] else {
      return
    }
    let wasOpen = gates[index].isOpen
    gates[index].acknowledged(Int(partition), offset: offset, bytes: bytes)
    if watched[index].group != nil {
      if gates[index].unreadBytes(Int(partition)) > Self.harmless { state.keepWatching() }
      return
    }
    if wasOpen, !gates[index].isOpen {
      log?.error(
        "\(watched[index].topic) is full, and the embedded broker would silently drop records of it; intake"
          + " stopped. Restart the pipeline or use a real cluster")
    }
  }

  public func refresh() {
    guard let newest = inbox.drain().last else { return }
    var unread = false
    for (index, offsets) in newest.enumerated() {
      for (partition, offset) in offsets.enumerated() where offset >= 0 {
        gates[index].committed(partition, offset: offset)
      }
      for partition in offsets.indices where gates[index].unreadBytes(partition) > Self.harmless {
        unread = true
      }
    }
    if unread { state.keepWatching() }
  }

  public func isOpen(outstandingBytes: Int) -> Bool {
    outstandingBytes < outstandingLimit && gates.allSatisfy(\.isOpen)
  }
}

/// What the two threads share.
private final class WatchState: Sendable {
  private let ended = Atomic(false)
  private let wanted = Atomic(false)

  var isEnded: Bool { ended.load(ordering: .acquiring) }
  func end() { ended.store(true, ordering: .releasing) }
  func keepWatching() { wanted.store(true, ordering: .relaxed) }
  func takeWanted() -> Bool { wanted.exchange(false, ordering: .relaxed) }
}

/// The thread that asks the group coordinators.
private struct BacklogWatch {
  private static let intervalMicroseconds: UInt32 = 50_000

  private let configuration: KafkaConfiguration
  private let watched: [BrokerBackpressure.Watched]
  private let partitions: [Int]
  private let inbox: Mailbox<[[Int64]]>
  private let state: WatchState

  init(
    _ configuration: KafkaConfiguration, _ watched: [BrokerBackpressure.Watched],
    _ partitions: [Int],
    _ inbox: Mailbox<[[Int64]]>, _ state: WatchState
  ) {
    self.configuration = configuration
    self.watched = watched
    self.partitions = partitions
    self.inbox = inbox
    self.state = state
  }

  func run() {
    guard let admin = try? KafkaAdmin(configuration) else { return }
    while !state.isEnded {
      usleep(Self.intervalMicroseconds)
      guard state.takeWanted() else { continue }
      if let findings = look(admin) {
        inbox.post(findings)
      } else {
        // The broker did not answer: ask again.
        state.keepWatching()
      }
    }
    admin.close()
  }

  private func look(_ admin: KafkaAdmin) -> [[Int64]]? {
    var findings: [[Int64]] = []
    for (index, watch) in watched.enumerated() {
      guard let group = watch.group else {
        findings.append([])
        continue
      }
      let all = (0..<Int32(partitions[index])).map {
        TopicPartition(topic: watch.topic, partition: $0)
      }
      guard
        let offsets = try? admin.groupOffsets(group, all, timeoutMilliseconds: 5_000)
      else { return nil }
      var committed = Array(repeating: Int64(-1), count: partitions[index])
      for offset in offsets {
        committed[Int(offset.partition.partition)] = offset.offset ?? -1
      }
      findings.append(committed)
    }
    return findings
  }
}
