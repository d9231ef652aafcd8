// SPDX-License-Identifier: Apache-2.0

/// The partitions of a process whose loops read on threads of their own: what each partition begins with, which loop gets
/// it, and whether all loops have given theirs back.
public struct Assignments<Partition: Hashable & Sendable & CustomStringConvertible>: Sendable {
  /// What is known of a partition when it is assigned.
  public struct Known: Sendable {
    let partition: Partition
    let takesIDs: Bool
    let committed: Int64?
    let metadata: [UInt8]
    let logStart: Int64?
    let logEnd: Int64?

    /// - Parameters:
    ///   - takesIDs: whether ids of the partition's records are remembered.
    ///   - committed: the group's offset, nil if it has none.
    ///   - metadata: what is committed beside it.
    ///   - logStart: where the log begins, if the group has committed nothing and that is known.
    ///   - logEnd: where the log ends, if the group has committed a map and that is known.
    public init(
      _ partition: Partition, takesIDs: Bool, committed: Int64?, metadata: [UInt8],
      logStart: Int64?, logEnd: Int64?
    ) {
      self.partition = partition
      self.takesIDs = takesIDs
      self.committed = committed
      self.metadata = metadata
      self.logStart = logStart
      self.logEnd = logEnd
    }
  }

  /// A partition as a loop begins it.
  public struct Grant: Sendable {
    public let partition: Partition
    /// The number of the loop, from 0.
    public let loop: Int
    public let resume: ResumePoint
    /// The `apns-id`s that are known.
    public let window: DedupWindow?
    /// Until when it waits for those that are still to be read, in monotonic milliseconds.
    public let windowDeadline: UInt64?
  }

  /// An assignment, divided among the loops.
  public struct Plan: Sendable {
    public fileprivate(set) var grants: [Grant] = []
    public fileprivate(set) var starts: [GroupStart<Partition>] = []
    /// Windows that are to be read before their partitions are.
    public fileprivate(set) var wants: [WindowReading<Partition>.Want] = []
    /// Windows that this process has kept whole.
    public fileprivate(set) var windowsKept = 0
    /// What was committed beside offsets and is no map that can be believed.
    public fileprivate(set) var refusedMaps:
      [(partition: Partition, offset: Int64, problem: OffsetMap.Problem)] = []
  }

  public var memory: PartitionMemory<Partition>
  private var division: LoopAssignment<Partition>
  private let loops: Int
  private let rebuildMilliseconds: UInt64
  /// Loops that have not said yet that they are drained.
  private var draining = 0
  /// What they give back is others' already, who have gone on since.
  private var isLost = false

  /// - Parameters:
  ///   - loops: at least 1.
  ///   - window: `apns-id`s of a partition, 0 for none.
  ///   - rebuildMilliseconds: how long a partition waits for ids that are read again, 0 for not at all.
  public init(loops: Int, window: Int, rebuildMilliseconds: UInt64) {
    self.loops = loops
    self.rebuildMilliseconds = rebuildMilliseconds
    division = LoopAssignment(loops: loops)
    memory = PartitionMemory(capacity: window, isRebuilding: rebuildMilliseconds > 0)
  }

  // MARK: Beginning

  /// Divides an assignment, and says where each partition begins; what was remembered of it is used up.
  ///
  /// - Parameters:
  ///   - topics: the partitions of each topic, in an order that is always the same.
  ///   - now: monotonic milliseconds.
  public mutating func plan(_ topics: [[Known]], now: UInt64) -> Plan {
    var plan = Plan()
    let loops = division.assign(topics.map { $0.map(\.partition) })
    for known in topics.joined() { add(known, loops[known.partition] ?? 0, to: &plan, now) }
    return plan
  }

  private mutating func add(_ known: Known, _ loop: Int, to plan: inout Plan, _ now: UInt64) {
    let start = memory.start(
      known.partition, takesIDs: known.takesIDs, committed: known.committed,
      map: map(known, &plan), logStart: known.logStart)
    plan.grants.append(
      Grant(
        partition: known.partition, loop: loop, resume: start.resume, window: start.ids?.window,
        windowDeadline: start.mustRead ? now + rebuildMilliseconds : nil))
    plan.starts.append(
      GroupStart(
        known.partition, committed: known.committed, start.resume, isNews: start.isNews))
    if let ids = start.ids, start.mustRead {
      plan.wants.append(.init(known.partition, ids))
    } else if start.ids?.window != nil {
      plan.windowsKept += 1
    }
  }

  /// What the map committed beside an offset says. Without a map that can be believed the offset is a safe start: what
  /// was completed above it is sent again.
  private func map(_ known: Known, _ plan: inout Plan) -> [Range<Int64>] {
    guard let offset = known.committed, !known.metadata.isEmpty else { return [] }
    do throws(OffsetMap.Problem) {
      return try OffsetMap.decode(
        known.metadata, of: known.partition, base: offset, logEnd: known.logEnd)
    } catch {
      plan.refusedMaps.append((known.partition, offset, error))
      return []
    }
  }

  /// The assignment is begun: what did not come back is another process's.
  public mutating func begun() { memory.removeAll() }

  // MARK: Draining

  /// True until every loop has said that it is drained.
  public var isDraining: Bool { draining > 0 }

  /// The loops are to drain.
  ///
  /// - Parameter isLost: their partitions are others' already.
  /// - Returns: false if they do already, and only have less time than they were told.
  public mutating func drain(isLost: Bool) -> Bool {
    guard draining == 0 else {
      self.isLost = self.isLost || isLost
      return false
    }
    draining = loops
    self.isLost = isLost
    return true
  }

  /// A loop gave a partition back with these ids. Of what was lost they say nothing about the newest records.
  ///
  /// - Parameter next: the first offset that is not known to be done.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    if !isLost { memory.keep(partition, window, next: next) }
  }

  /// A loop is drained.
  ///
  /// - Returns: whether all are.
  public mutating func loopDrained() -> Bool {
    draining -= 1
    return draining == 0
  }
}
