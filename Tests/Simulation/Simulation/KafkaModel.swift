// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions

/// One partition of a lane or of a retry topic, and what the senders' group has committed in it.
struct PartitionModel {
  let topicKind: TopicKind
  /// The records from `base` on; older ones were verified and are of no more use to anybody.
  private(set) var records: [LogRecord] = []
  private(set) var base: Int64 = 0
  /// What retention has left begins here.
  private(set) var low: Int64 = 0
  /// Which log it is: the topic may be made again.
  private(set) var log = 0
  var committed: Int64?
  /// Which log the committed offset is of: a member that has not noticed yet commits what it did in the old one.
  var committedLog = 0
  var metadata: [UInt8] = []
  var completedAbove: [Range<Int64>] = []
  /// What a map of the log before says is done above this one's end: whoever comes to a record there asks how far the log
  /// reaches.
  var oldMap: Set<Int64> = []
  /// Every record below it was found settled.
  var verified: Int64 = 0
  /// How far any process has read.
  var readTo: Int64 = 0
  /// Offsets that a sender has reported as removed before they were read.
  var reported: [Range<Int64>] = []
  /// Records that retention removed before anybody had read them, after the group's first commit: before it nothing
  /// counts as lost (docs/operations.md).
  private(set) var removed: [(offset: Int64, notification: Int)] = []

  init(_ topicKind: TopicKind) { self.topicKind = topicKind }

  var end: Int64 { base + Int64(records.count) }

  subscript(_ offset: Int64) -> LogRecord {
    get { records[Int(offset - base)] }
    set { records[Int(offset - base)] = newValue }
  }

  mutating func append(_ record: LogRecord) { records.append(record) }

  /// Whether a record counts as done: its outcome is stored, or retention removed it.
  func isDone(_ offset: Int64) -> Bool { offset < low || offset < base || self[offset].isSettled }

  /// Retention removes everything below an offset.
  ///
  /// - Returns: the notifications of records whose outcome was not stored.
  mutating func cut(below offset: Int64) -> [Int] {
    var gone: [Int] = []
    for place in max(low, base)..<offset where !self[place].isSettled {
      gone.append(self[place].notification)
      if place >= readTo, committed != nil { removed.append((place, self[place].notification)) }
    }
    low = max(low, offset)
    return gone
  }

  /// The topic is made again, without a record.
  mutating func remake() -> [Int] {
    let gone = (max(low, base)..<end).map { self[$0] }.filter { !$0.isSettled }.map(\.notification)
    (records, base, low, verified, readTo) = ([], 0, 0, 0, 0)
    (removed, reported) = ([], [])
    // Brokers delete a group's offsets with the topic.
    (committed, metadata, completedAbove, oldMap) = (nil, [], [], [])
    log += 1
    return gone
  }

  /// Drops records that have no reader left.
  mutating func trim(keeping window: Int64) {
    let place = min(verified, committed ?? 0) - window
    guard place - base > 2_000 else { return }
    records.removeFirst(Int(place - base))
    base = place
  }

  /// A removed record that has not been reported. While nothing behind it is committed its reader has not passed over it.
  var unreported: Int64? {
    removed.first { removed in
      removed.offset < committed ?? 0 && !reported.contains { $0.contains(removed.offset) }
    }?.offset
  }
}

/// The topics that senders read: the truth that no crash changes.
struct KafkaModel {
  static let window: Int64 = 500

  private(set) var partitions: [PartitionModel] = []
  var notifications: [Notification] = []
  private(set) var problem: String?
  /// Records without a stored outcome that Kafka still has.
  private(set) var pending = 0
  private(set) var written = 0
  /// The last events, kept while a failing run is repeated.
  private(set) var trace: [String] = []
  /// Milliseconds since the run began, for the trace.
  var time: UInt64 = 0
  /// How many of the last events are kept.
  var tracedEvents = 0

  /// What the partitions of senders are of, before there are further ones.
  static let topicKinds: [TopicKind] =
    Array(repeating: .lane(.first), count: 3) + [.lane(.bulk), .lane(.bulk)]
    + RetryTier.allCases.flatMap { [TopicKind.retries($0), .retries($0)] }

  init() { partitions = Self.topicKinds.map { PartitionModel($0) } }

  subscript(_ partition: Int) -> PartitionModel {
    get { partitions[partition] }
    set { partitions[partition] = newValue }
  }

  mutating func fail(_ text: String) {
    note("FAILED: \(text)")
    problem = problem ?? text
  }

  mutating func note(_ text: @autoclosure () -> String) {
    guard tracedEvents > 0, problem == nil else { return }
    if trace.count >= 2 * tracedEvents { trace.removeFirst(tracedEvents) }
    trace.append("\(time) \(text())")
  }

  // MARK: Records

  /// Adds a partition to a topic.
  mutating func grow(_ topicKind: TopicKind) { partitions.append(PartitionModel(topicKind)) }

  /// The partition of a topic that a device's records go to.
  func place(_ topicKind: TopicKind, _ device: UInt64) -> Int {
    let places = partitions.indices.filter { partitions[$0].topicKind == topicKind }
    return places[Int(device % UInt64(places.count))]
  }

  /// A notification is stored in its lane.
  mutating func write(_ facts: PushFacts, of notification: Int, at wall: Int64) {
    let place = place(.lane(facts.lane), facts.device)
    let log = (place, partitions[place].log)
    if let first = notifications[notification].firstLog, first != log {
      // Windows are those of a partition's log: a repeat in another one is not seen.
      notifications[notification].excusable += 1
    } else {
      if notifications[notification].firstLog == nil {
        notifications[notification].firstOffset = partitions[place].end
        notifications[notification].state = facts.state
      }
      notifications[notification].firstLog = log
    }
    append(facts, of: notification, to: place, at: wall)
  }

  /// A sender's record is stored on a retry topic.
  mutating func retry(_ facts: PushFacts, of notification: Int, _ tier: RetryTier, at wall: Int64) {
    append(facts, of: notification, to: place(.retries(tier), facts.device), at: wall)
  }

  private mutating func append(
    _ facts: PushFacts, of notification: Int, to place: Int, at wall: Int64
  ) {
    let offset = partitions[place].end
    note("\(place)/\(offset): record of notification \(notification)")
    partitions[place].append(LogRecord(notification: notification, facts: facts, written: wall))
    written += 1
    pending += 1
  }

  /// What a record of a log ended in is stored.
  mutating func settle(_ partition: Int, _ offset: Int64, log: Int) {
    guard log == partitions[partition].log, offset >= partitions[partition].base,
      !partitions[partition][offset].isSettled
    else { return }
    partitions[partition][offset].isSettled = true
    if offset >= partitions[partition].low { pending -= 1 }
  }

  /// The next record of a partition for a reader that is at an offset, and where it is.
  mutating func read(_ partition: Int, at position: Int64) -> (offset: Int64, LogRecord)? {
    let offset = max(position, partitions[partition].low)
    guard offset < partitions[partition].end else { return nil }
    let record = partitions[partition][offset]
    note("\(partition)/\(offset): notification \(record.notification) is read")
    if offset >= partitions[partition].readTo {
      partitions[partition].readTo = offset + 1
    } else if !partitions[partition].completedAbove.contains(where: { $0.contains(offset) }) {
      // Read before: by a process that crashed, or lost the partition. What the group calls completed is not
      // to be sent again.
      notifications[record.notification].excusable += 1
    }
    return (offset, record)
  }

  /// Where a member begins to read.
  ///
  /// - Parameter isKnownLog: the resume point is of the log that there is now.
  mutating func place(
    _ partition: Int, resumingAt resume: ResumePoint, isKnownLog: Bool
  ) -> LoopModel.AssignedPartition {
    let state = partitions[partition]
    let next = resume.next ?? state.low
    var log = isKnownLog ? state.log : state.committedLog
    // Out of range: reading begins at the log's start.
    guard next <= state.end else {
      return LoopModel.AssignedPartition(partition: partition, next: state.low, log: log)
    }
    if log != state.log {
      log = state.log
      overlook(partition, below: next)
      for offset in resume.completedAbove.joined() { passOver(partition, offset) }
    }
    return LoopModel.AssignedPartition(partition: partition, next: next, log: log)
  }

  /// The new log is as long as what was committed or read of the old one: the two cannot be told apart
  /// (docs/operations.md).
  mutating func overlook(_ partition: Int, below offset: Int64) {
    note("\(partition): an offset of the log before goes unnoticed")
    guard offset > max(partitions[partition].low, partitions[partition].base) else { return }
    remove(partitions[partition].cut(below: offset))
    partitions[partition].reported.append(0..<offset)
  }

  /// Nobody sends this record: the group takes it for one of the log before.
  private mutating func passOver(_ partition: Int, _ offset: Int64) {
    guard offset < partitions[partition].end, !partitions[partition].isDone(offset) else { return }
    remove([partitions[partition][offset].notification])
    partitions[partition][offset].isSettled = true
  }

  // MARK: Newest states

  /// The newest push of each identity that the gateway got, by its lane's log.
  private var sent: [StateKey: (offset: Int64, notification: Int)] = [:]

  private struct StateKey: Hashable {
    let partition: Int
    let log: Int
    let identity: UInt64
    var urgency: Urgency
    /// The end of its states, whatever its urgency.
    var isEnd = false

    /// What supersedes a push: itself, and those of no less urgency.
    var superseding: [StateKey] {
      (0..<Urgency.count).map { Urgency(rawValue: $0) }.filter { $0.covers(urgency) }.map {
        StateKey(partition: partition, log: log, identity: identity, urgency: $0)
      }
    }

    var end: StateKey {
      StateKey(partition: partition, log: log, identity: identity, urgency: [], isEnd: true)
    }
  }

  private func stateKey(_ one: Notification, _ first: (partition: Int, log: Int)) -> StateKey {
    StateKey(
      partition: first.partition, log: first.log, identity: one.state.identity,
      urgency: one.state.urgency)
  }

  /// A lane was made again, or has another partition: places of before and after do not compare.
  var hasOtherLogs: Bool {
    let lanes = partitions.filter(\.topicKind.isLane)
    return lanes.count > 5 || lanes.contains { $0.log > 0 }
  }

  /// A push with a key arrives at the gateway: none that is newer may have been there.
  ///
  /// - Parameters:
  ///   - isExcused: its sender cannot know of it.
  ///   - statesEnd: the sender knows of states below this offset.
  mutating func arrived(_ number: Int, isExcused: Bool, statesEnd: Int64) {
    let one = notifications[number]
    guard one.state.hasIdentity, let first = one.firstLog else { return }
    let key = stateKey(one, first)
    // A repeat that nobody could recognize is a state of its own.
    let offset = max(one.firstOffset, one.takenAsNewAt)
    let newest = key.superseding.compactMap { sent[$0] }.max { $0.offset < $1.offset }
    if let newest, newest.offset > offset {
      // Nobody reads again what retention has removed.
      let isKnown = newest.offset >= partitions[first.partition].low && newest.offset < statesEnd
      if !one.state.isFinal, !isExcused, isKnown {
        fail("notification \(number) is sent after the newer \(newest.notification)")
      }
    } else if !isExcused {
      sent[key] = (offset, number)
    }
  }

  /// A push that was superseded although none with its key is newer; nil without one.
  var wronglySuperseded: Int? {
    if hasOtherLogs { return nil }
    var newest: [StateKey: Int64] = [:]
    for one in notifications where one.state.hasIdentity {
      guard let first = one.firstLog else { continue }
      let key = stateKey(one, first)
      for key in one.state.isFinal ? [key, key.end] : [key] {
        newest[key] = max(newest[key] ?? -1, one.firstOffset, one.takenAsNewAt)
      }
    }
    return notifications.firstIndex { one in
      guard one.isOnlySuperseded, let first = one.firstLog else { return false }
      let key = stateKey(one, first)
      let newer = (key.superseding + [key.end]).compactMap { newest[$0] }.max() ?? -1
      return one.state.isFinal || newer == one.firstOffset
    }
  }

  // MARK: What goes wrong with logs

  mutating func cut(_ partition: Int, below offset: Int64) {
    note("\(partition): retention removes everything below \(offset)")
    excuseRepeats(partition, below: offset)
    remove(partitions[partition].cut(below: offset))
  }

  /// What retention removes is in no window that is rebuilt later: a repeat of it is sent again.
  private mutating func excuseRepeats(_ partition: Int, below offset: Int64) {
    let state = partitions[partition]
    for place in max(state.base, state.low)..<max(state.base, state.low, min(offset, state.end))
    where state[place].isSettled {
      notifications[state[place].notification].excusable += 1
    }
  }

  mutating func remake(_ partition: Int) {
    note("\(partition): made again")
    remove(partitions[partition].remake())
  }

  private mutating func remove(_ gone: [Int]) {
    pending -= gone.count
    for notification in gone { notifications[notification].isRemoved = true }
  }

  // MARK: Commits

  /// The group's coordinator takes a commit: nothing may be committed before its outcome is stored.
  mutating func commit(_ plan: PlannedCommit<Int>, log: Int) {
    let place = plan.partition
    note("\(place): committed \(plan.offset), completed above \(plan.completedAbove)")
    partitions[place].committed = plan.offset
    partitions[place].committedLog = log
    partitions[place].metadata = Array(
      (OffsetMap.encode(of: place, base: plan.offset, plan.completedAbove) ?? "").utf8)
    partitions[place].completedAbove = []
    if log == partitions[place].log { verify(plan) }
  }

  private mutating func verify(_ plan: PlannedCommit<Int>) {
    let place = plan.partition
    while partitions[place].verified < plan.offset {
      let offset = partitions[place].verified
      guard offset < partitions[place].end else {
        return fail("offset \(offset) of partition \(place) was committed and is no record")
      }
      guard partitions[place].isDone(offset) else {
        return fail("offset \(offset) of partition \(place) was committed before its outcome")
      }
      partitions[place].verified += 1
    }
    let metadata = partitions[place].metadata
    if !metadata.isEmpty {
      guard let map = try? OffsetMap.decode(metadata, of: place, base: plan.offset) else {
        return fail("the offset map of partition \(place) cannot be read")
      }
      let end = partitions[place].end
      if partitions[place].log > 0 {
        partitions[place].oldMap.formUnion(map.joined().filter { $0 >= end })
      }
      let oldMap = partitions[place].oldMap
      for offset in map.joined()
      where !oldMap.contains(offset) && (offset >= end || !partitions[place].isDone(offset)) {
        return fail("offset \(offset) of partition \(place) is called completed and is not")
      }
      partitions[place].completedAbove = map
    }
    partitions[place].trim(keeping: Self.window + 100)
  }
}

extension TopicKind {
  static let all = [TopicKind.lane(.first), .lane(.bulk)] + RetryTier.allCases.map { .retries($0) }
}
