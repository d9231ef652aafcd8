// SPDX-License-Identifier: Apache-2.0

/// One reading of librdkafka's statistics (STATISTICS.md), as far as it explains why a partition does not move.
public struct KafkaStatistics: Sendable, Equatable {
  public struct Partition: Sendable, Equatable {
    public var topic: String
    public var number: Int
    /// The id of the broker that leads it; -1 without one.
    public var leader: Int
    /// `fetch_state`: `active` while it is fetched.
    public var fetchState: String
    /// The offset that is fetched next.
    public var nextOffset: Int64
    /// Records that wait in this process.
    public var waiting: Int
    /// Records between what was taken and the log's end; -1 when not known.
    public var lag: Int64

    public init(
      topic: String, number: Int, leader: Int, fetchState: String, nextOffset: Int64, waiting: Int,
      lag: Int64
    ) {
      self.topic = topic
      self.number = number
      self.leader = leader
      self.fetchState = fetchState
      self.nextOffset = nextOffset
      self.waiting = waiting
      self.lag = lag
    }
  }

  public struct Broker: Sendable, Equatable {
    public var id: Int
    public var name: String
    /// `UP`, `CONNECT`, `DOWN`, …
    public var state: String
    /// Average time of an answer, in microseconds.
    public var roundTrip: Int
    /// Requests that wait to be sent, and those that wait for their answer.
    public var toSend: Int
    public var unanswered: Int
    /// Since the start.
    public var timeouts: Int
    public var errors: Int

    public init(
      id: Int, name: String, state: String, roundTrip: Int, toSend: Int, unanswered: Int,
      timeouts: Int, errors: Int
    ) {
      self.id = id
      self.name = name
      self.state = state
      self.roundTrip = roundTrip
      self.toSend = toSend
      self.unanswered = unanswered
      self.timeouts = timeouts
      self.errors = errors
    }
  }

  public var partitions: [Partition]
  public var brokers: [Broker]

  public init(partitions: [Partition], brokers: [Broker]) {
    self.partitions = partitions
    self.brokers = brokers
  }
}

/// Finds partitions that Kafka does not deliver: nothing of them waits in this process, the offset that is fetched next
/// stands still, and either the log goes on behind it or its leader cannot be reached.
public struct FetchStallWatch: Sendable {
  /// A partition that stands still, with its leader; nil without one.
  public struct Stall: Sendable, Equatable {
    public let partition: KafkaStatistics.Partition
    public let broker: KafkaStatistics.Broker?
    public let seconds: UInt64
  }

  /// Times in milliseconds.
  private struct Stand: Sendable {
    var offset: Int64
    var since: UInt64
    var reported: UInt64?
  }

  /// A stall of this length is worth a line, and another one after as long again.
  public static let patience: UInt64 = 30_000

  private let patience: UInt64
  /// By topic and number, of the last reading.
  private var stands: [String: Stand] = [:]

  /// - Parameter patience: milliseconds.
  public init(patience: UInt64 = patience) { self.patience = patience }

  /// Takes a reading; returns the stalls that are to be reported now.
  public mutating func observe(_ statistics: KafkaStatistics, now: UInt64) -> [Stall] {
    var next: [String: Stand] = [:]
    var stalls: [Stall] = []
    for partition in statistics.partitions {
      let broker = statistics.brokers.first { $0.id == partition.leader }
      let isBehind = partition.lag > 0 || broker?.state != "UP"
      guard partition.waiting == 0, isBehind else { continue }
      let key = "\(partition.topic)/\(partition.number)"
      var stand = stands[key] ?? Stand(offset: partition.nextOffset, since: now)
      if stand.offset != partition.nextOffset {
        stand = Stand(offset: partition.nextOffset, since: now)
      }
      if now - max(stand.since, stand.reported ?? 0) >= patience {
        stand.reported = now
        stalls.append(
          Stall(partition: partition, broker: broker, seconds: (now - stand.since) / 1_000))
      }
      next[key] = stand
    }
    stands = next
    return stalls
  }
}
