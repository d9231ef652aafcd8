// SPDX-License-Identifier: Apache-2.0

/// The partitions of a process whose loops read on threads of their own: the initial state of each partition, its loop,
/// and whether all loops have given up theirs.
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
    ///   - takesIDs: whether the `apns-id`s of the partition's records are remembered.
    ///   - committed: the group's committed offset, nil if there is none.
    ///   - logStart: the log start offset, if known and nothing is committed.
    ///   - logEnd: the log end offset, if known and a map is committed.
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

  /// A partition as a loop receives it.
  public struct Grant: Sendable {
    public let partition: Partition
    /// The index of the loop, from 0.
    public let loop: Int
    public let resume: ResumePoint
    /// The known `apns-id`s.
    public let window: DedupWindow?
    /// The time until which it waits for ids that must still be read, in monotonic milliseconds.
    public let windowDeadline: UInt64?
  }

  /// An assignment, divided among the loops.
  public struct Plan: Sendable {
    public fileprivate(set) var grants: [Grant] = []
    public fileprivate(set) var starts: [GroupStart<Partition>] = []
    /// Windows that must be read before their partitions.
    public fileprivate(set) var wants: [WindowReading<Partition>.Want] = []
    /// The number of complete windows that this process has kept.
    public fileprivate(set) var windowsKept = 0
    /// Metadata committed with offsets that is not a valid map.
    public fileprivate(set) var refusedMaps:
      [(partition: Partition, offset: Int64, problem: OffsetMap.Problem)] = []
  }

  public var memory: PartitionMemory<Partition>
  private var division: LoopAssignment<Partition>
  private let loops: Int
  private let rebuildMilliseconds: UInt64
  /// The number of loops that are not drained yet.
  private var draining = 0
  /// True if the partitions already belong to other members, which have read on since.
  private var isLost = false

  /// - Parameters:
  ///   - loops: at least 1.
  ///   - window: the number of `apns-id`s per partition, 0 for none.
  ///   - rebuildMilliseconds: how long a partition waits for ids that are read again, 0 for not at all.
  public init(loops: Int, window: Int, rebuildMilliseconds: UInt64) {
    self.loops = loops
    self.rebuildMilliseconds = rebuildMilliseconds
    division = LoopAssignment(loops: loops)
    memory = PartitionMemory(capacity: window, isRebuilding: rebuildMilliseconds > 0)
  }

  // MARK: Beginning

  /// Divides an assignment and decides where each partition starts; consumes what was remembered of it.
  ///
  /// - Parameter topics: the partitions of each topic, always in the same order.
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

  /// The completed offsets in the map committed with an offset. Without a valid map the offset is a safe start: records
  /// completed above it are sent again.
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

  /// Call it when the assignment has begun: partitions that did not come back belong to other processes.
  public mutating func begun() { memory.removeAll() }

  // MARK: Draining

  public var isDraining: Bool { draining > 0 }

  /// Starts draining the loops.
  ///
  /// - Parameter isLost: whether their partitions already belong to other members.
  /// - Returns: false if they are draining already, and only have less time than they were told.
  public mutating func drain(isLost: Bool) -> Bool {
    guard draining == 0 else {
      self.isLost = self.isLost || isLost
      return false
    }
    draining = loops
    self.isLost = isLost
    return true
  }

  /// Keeps the ids of a partition that a loop gave up. Those of a lost partition lack the newest records.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    if !isLost { memory.keep(partition, window, next: next) }
  }

  /// Notes that a loop is drained.
  ///
  /// - Returns: whether all loops are.
  public mutating func loopDrained() -> Bool {
    draining -= 1
    return draining == 0
  }
}
