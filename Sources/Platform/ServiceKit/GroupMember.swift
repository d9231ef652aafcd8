// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
public import EventLoop
public import Kafka

/// A process's membership in a consumer group, for a service that takes and completes records on one thread: a
/// `GroupSession` whose machine has the records' offsets, with the partitions' queues. Owned by the service's thread.
///
/// There is one of it: a question that is asked for each record must not copy its twenty references.
public struct GroupMember: ~Copyable {
  public enum Task: Equatable {
    /// These partitions are read from now on, unless there are none.
    case begun([TopicPartition])
    /// Nothing more comes: let go of records that were taken and not looked at, and finish the others.
    case drain
    /// The time is up: give up what is not finished.
    case abandon
    /// The partitions are given back.
    case unassigned
  }

  /// What a record's offset says.
  public enum Admission: Equatable {
    case new
    /// Taken before, or of a log that may be another one: not to be worked on.
    case known
    /// New, and the process crashed twice with it in hand: to be completed without being worked on.
    case deadly
  }

  @usableFromInline let plan: GroupPlan
  private let context: ServiceContext
  private let wakeup: Wakeup
  private var session: GroupSession<KafkaGroupConsumer>
  private var queues: [KafkaQueue] = []
  private var nextQueue = 0
  private var mustCloseQueues = false

  public init(
    _ plan: GroupPlan, _ kafka: KafkaConfiguration, _ context: ServiceContext, wakeup: Wakeup
  ) throws {
    self.plan = plan
    self.context = context
    self.wakeup = wakeup
    session = try GroupSession(joining: plan, kafka, context, reportsEnds: true, wakeup: wakeup)
  }

  /// Whether records are to be taken.
  public var isAssigned: Bool { session.isAssigned }
  /// Whether the group waits for what was taken.
  public var isDraining: Bool { session.isDraining }
  /// Whether the service may end.
  public var hasLeft: Bool { session.hasLeft }
  /// Why the group cannot be worked with any more.
  public var failure: ServiceFailure? { session.failure }

  // MARK: Turn

  /// What the service has to do next; nil when there is nothing. To be called until it says so, every turn.
  ///
  /// - Parameters:
  ///   - isIdle: nothing that was taken is unfinished.
  ///   - startsOver: whether a partition is read from its first record, given the group's offset: for a service that keeps
  ///     a view of the topic and lacks what the group has committed. nil for the others.
  public mutating func next(
    now: UInt64, isIdle: Bool, startsOver: ((TopicPartition, Int64?) -> Bool)? = nil
  ) -> Task? {
    closeQueues()
    while let task = session.next(now: now, isIdle: isIdle) {
      switch task {
      case .assigned(let assignment):
        if begin(assignment, now, startsOver) { return .begun(assignment.partitions) }
      case .drain:
        mustCloseQueues = true
        return .drain
      case .abandon: return .abandon
      case .unassigned: return .unassigned
      case .forget: break
      }
    }
    return nil
  }

  /// The service can do nothing more: what is under way is given up and nothing is committed.
  public mutating func fail() { session.fail() }

  private mutating func begin(
    _ assignment: GroupAssignment<TopicPartition>, _ now: UInt64,
    _ startsOver: ((TopicPartition, Int64?) -> Bool)?
  ) -> Bool {
    var again: [TopicPartition: Int64] = [:]
    var atFirstRecord = assignment.atFirstRecord
    if let startsOver {
      guard let committed = session.committed(assignment, now: now) else { return false }
      for offset in committed where startsOver(offset.partition, offset.offset) {
        atFirstRecord.insert(offset.partition)
        again[offset.partition] = offset.offset
      }
    }
    queues = assignment.partitions.map { session.client.openQueue($0, wakeup: wakeup) }
    // The consumer looks the committed offsets up, as often as the coordinator needs to be asked.
    let starts = assignment.partitions.map {
      GroupStart($0, atFirstRecord: atFirstRecord.contains($0), committed: again[$0])
    }
    let sources = assignment.partitions.map { source($0) }
    guard session.begin(starts, sources: sources, now: now) else {
      mustCloseQueues = true
      closeQueues()
      return false
    }
    return true
  }

  /// Before the assignment changes, and after the service has let go of what it has not looked at.
  private mutating func closeQueues() {
    guard mustCloseQueues else { return }
    mustCloseQueues = false
    for queue in queues { queue.close() }
    queues = []
  }

  // MARK: Records

  /// Appends records, and messages about partitions, to the batch until that holds `most`; beginning with another
  /// partition each time, so that none is always last.
  ///
  /// - Parameters:
  ///   - each: of one partition at most.
  ///   - isWanted: whether anything is to be taken of a partition; what is not waits in Kafka.
  public mutating func take(
    into batch: inout KafkaBatch, upTo most: Int, ofEach each: Int = .max,
    where isWanted: (TopicPartition) -> Bool = { _ in true }
  ) -> Int {
    guard session.isAssigned else { return 0 }
    var taken = 0
    nextQueue &+= 1
    for step in queues.indices where batch.count < most {
      let queue = queues[(step + nextQueue) % queues.count]
      guard isWanted(queue.partition) else { continue }
      taken += queue.take(into: &batch, upTo: min(each, most - batch.count))
    }
    return taken
  }

  /// The place of a record: what `completed` is called with.
  ///
  /// Inlined, because a call would copy the two kilobytes of the member for each record.
  @inlinable @inline(__always)
  public func source(_ record: KafkaRecord) -> Source {
    let topic =
      plan.topics.count == 1 ? 0 : plan.topics.firstIndex { record.isOf($0) } ?? 0
    return Source(topic: topic, partition: record.partition)
  }

  /// The assignment under which records are taken now.
  public var epoch: UInt32 { session.machine.epoch }

  /// Takes a record in: only a new one is to be worked on, and completed then.
  public mutating func admit(_ source: Source, _ record: KafkaRecord) -> Admission {
    guard session.machine.received(source, record.offset) else { return .known }
    return context.hasCrashed && context.isDeadly(record) ? .deadly : .new
  }

  /// A record of an assignment is done.
  public mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    session.machine.completed(source, epoch: epoch, offset)
  }

  /// A partition was read to its end (`isEndOfPartition`).
  public mutating func ended(_ source: Source, at end: Int64) {
    session.machine.ended(source, at: end)
  }

  /// The topic of such a place.
  public func topic(_ source: Source) -> String { plan.topics[source.topic] }

  public func source(_ partition: TopicPartition) -> Source {
    Source(topic: plan.topics.firstIndex(of: partition.topic) ?? 0, partition: partition.partition)
  }
}
