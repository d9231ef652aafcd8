// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Waiting

@testable import Kafka
@testable import ServiceKit

/// A consumer group with one member under test: gives it partitions, takes them back, loses requests, and says what
/// the member did that it must not do. Partitions that the member does not have are another process's, which goes on.
final class GroupModel: GroupClient {
  static let partitions = (0..<3 as Range<Int32>).map { TopicPartition(topic: "t", partition: $0) }

  private(set) var problem: String?
  private(set) var isClosed = false
  /// What is completed of each log, by whoever.
  private var done: [TopicPartition: Set<Int64>] = [:]
  /// Logs that were made again after what the coordinator has.
  private(set) var stale: Set<TopicPartition> = []
  /// What the coordinator has.
  private(set) var commits: [TopicPartition: CommittedOffset] = [:]
  /// The last offset of each partition of whose commit the member knows, in this assignment.
  private(set) var known: [TopicPartition: Int64] = [:]

  private var random: SeededGenerator
  private var events: [GroupEvent] = []
  /// What the member was given and has not given back, from when it has heard of it.
  private(set) var assignment: [TopicPartition]?
  private var isAnnounced = false
  /// The group waits for the partitions; the member has heard of it.
  private var isRevoking = false
  private(set) var isLost = false
  private(set) var isReading = false
  private var awaited: [CommitRequest]?
  /// Whether the member has no client.
  private(set) var isAway = false
  private(set) var rejoins = 0

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    for partition in Self.partitions { done[partition] = [] }
  }

  /// The first problem stays.
  func fail(_ text: String) { problem = problem ?? text }

  // MARK: What the group does

  /// Gives partitions, takes them back, answers a commit, or nothing of that.
  func act() {
    if isAway { return othersWork() }
    switch random.below(4) {
    case 0 where assignment == nil && !isAnnounced:
      events.append(.assigned(Self.partitions.filter { _ in !random.oneIn(4) }))
      isAnnounced = true
    case 1 where isReading && !isAnnounced && random.oneIn(3):
      events.append(.revoked(assignment ?? [], lost: random.oneIn(4)))
      isAnnounced = true
    case 2: answerCommit()
    case 3: othersWork()
    default: break
    }
  }

  /// Gives partitions to the member.
  func give() {
    events.append(.assigned(Self.partitions))
    isAnnounced = true
  }

  /// The member's session has run out.
  func lose() {
    events.append(.revoked(assignment ?? [], lost: true))
    isAnnounced = true
  }

  /// The member is of no further use.
  func fence() { events.append(.fatal(fenced)) }

  /// What the coordinator tells a member whose name another process has.
  private var fenced: KafkaError { KafkaError(code: 82, message: "fenced", isFatal: true) }

  private func answerCommit() {
    guard let requests = awaited else { return }
    awaited = nil
    // An answer may be lost.
    if random.oneIn(8) { return }
    let isRefused = random.oneIn(6) || isLost || !isReading
    let results = isRefused ? refused(requests) : requests.map(take)
    events.append(.offsetsCommitted(results, isRefused ? refusal : nil))
  }

  /// Other members complete and commit what is theirs.
  private func othersWork() {
    for partition in Self.partitions where isLost || assignment?.contains(partition) != true {
      let from = stale.contains(partition) ? 0 : commits[partition]?.offset ?? 0
      let upTo = from + Int64(random.below(5))
      for offset in from..<upTo { complete(partition, offset) }
      _ = take(CommitRequest(partition, offset: upTo))
    }
  }

  /// A record was read and completed.
  func complete(_ partition: TopicPartition, _ offset: Int64) { done[partition]?.insert(offset) }

  func isDone(_ partition: TopicPartition, _ offset: Int64) -> Bool {
    done[partition]?.contains(offset) == true
  }

  /// The topic is made again: its log is empty, and the group's offsets stay.
  func remake(_ partition: TopicPartition) {
    done[partition] = []
    stale.insert(partition)
    known[partition] = nil
    // An answer to a commit of the old log proves nothing.
    awaited = awaited?.filter { $0.partition != partition }
  }

  // MARK: GroupClient

  func nextEvent(timeoutMilliseconds: Int32) -> GroupEvent? {
    if isClosed { fail("polls a closed client") }
    if isAway { return nil }
    guard !events.isEmpty else { return nil }
    let event = events.removeFirst()
    switch event {
    case .assigned(let partitions): (assignment, isAnnounced) = (partitions, false)
    case .revoked(_, let lost): (isRevoking, isLost, isAnnounced) = (true, lost, false)
    case .offsetsCommitted(let results, _): learn(results)
    case .fatal: isLost = true
    case .error: break
    }
    return event
  }

  func committed(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommittedOffset] {
    if random.oneIn(5) { throw refusal }
    return partitions.map { commits[$0] ?? CommittedOffset($0, offset: nil) }
  }

  func knownEnds(_ partitions: [TopicPartition]) -> [TopicPartition: Int64] { [:] }

  func assign(_ starts: [PartitionStart]) throws(KafkaError) {
    if isClosed || isRevoking { fail("begins what it has to give back") }
    if isReading { fail("begins twice") }
    if starts.map(\.partition) != assignment { fail("begins what it does not have") }
    if random.oneIn(6) { throw refusal }
    isReading = true
    known = [:]
  }

  func unassign() throws(KafkaError) {
    if isClosed { fail("gives back with a closed client") }
    if isRevoking { (assignment, isRevoking, isLost) = (nil, false, false) }
    isReading = false
    // The group's next generation refuses it.
    awaited = nil
  }

  func commit(
    _ offsets: [CommitRequest], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommitResult] {
    check(offsets)
    awaited = nil
    if random.oneIn(5) {
      // The answer does not come; the commit may have arrived.
      if random.oneIn(2) { for request in offsets { _ = take(request) } }
      throw refusal
    }
    let results = random.oneIn(5) ? refused(offsets) : offsets.map(take)
    learn(results)
    return results
  }

  func commitAsync(_ offsets: [CommitRequest]) throws(KafkaError) {
    check(offsets)
    if random.oneIn(8) { throw refusal }
    awaited = offsets
  }

  func retire() {
    if isClosed { fail("ends its client twice") }
    (isAway, isReading, isRevoking, isLost, isAnnounced) = (true, false, false, false, false)
    (assignment, awaited, events) = (nil, nil, [])
  }

  func rejoin() throws(KafkaError) {
    if !isAway || isClosed { fail("joins twice") }
    if random.oneIn(5) {
      isLost = true
      throw refusal
    }
    isAway = false
    rejoins += 1
  }

  func close(timeoutMilliseconds: UInt64) {
    if isClosed { fail("closes twice") }
    if isRevoking { fail("leaves without an answer") }
    isClosed = true
  }

  // MARK: Commits

  private var refusal: KafkaError { KafkaError(code: 27, message: "refused", isRetriable: true) }

  private func refused(_ requests: [CommitRequest]) -> [CommitResult] {
    requests.map { CommitResult(partition: $0.partition, offset: $0.offset, error: refusal) }
  }

  private func take(_ request: CommitRequest) -> CommitResult {
    stale.remove(request.partition)
    commits[request.partition] = CommittedOffset(
      request.partition, offset: request.offset, metadata: Array((request.metadata ?? "").utf8))
    return CommitResult(partition: request.partition, offset: request.offset, error: nil)
  }

  private func learn(_ results: [CommitResult]) {
    for result in results where result.error == nil { known[result.partition] = result.offset }
  }

  /// A commit says only what is so, of partitions that the member has.
  private func check(_ requests: [CommitRequest]) {
    if isClosed || isLost || !isReading { fail("commits what it does not have") }
    for request in requests {
      let partition = request.partition
      if assignment?.contains(partition) != true { fail("commits another's \(partition)") }
      if let open = (0..<request.offset).first(where: { !isDone(partition, $0) }) {
        fail("commits \(request.offset) of \(partition) above the open \(open)")
      }
      let map = Array((request.metadata ?? "").utf8)
      for run in (try? OffsetMap.decode(map, of: partition, base: request.offset)) ?? [] {
        if run.contains(where: { !isDone(partition, $0) }) { fail("calls open records done") }
      }
    }
  }
}
