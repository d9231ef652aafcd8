// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import JSON
import Kafka
import Pipeline
import Records
import ServiceKit

/// The sender's control thread: membership in the consumer group, commits, provider tokens, stop.
///
/// Rebalances arrive as events and the assignment changes only when this thread says so, so it first has
/// every loop let go of its partitions: taking records in parallel with a change loses some (librdkafka
/// 2.0.2), and what is in flight gets the time to finish and to be committed.
final class SenderControl {
  /// What a rebalance waits for answers at most: the whole group stands still meanwhile.
  static let rebalanceDrainMilliseconds: Int64 = 3_000
  private static let turnMilliseconds: Int32 = 100

  private let settings: SenderSettings
  private let context: ServiceContext
  private let consumer: KafkaGroupConsumer
  private let tokens: KafkaTable
  private let requests: TokenRequests
  private let inbox: Mailbox<ControlMessage>
  private let loops: [Mailbox<LoopMessage>]
  private let topics: TopicNames
  private let certificates: CertificateWatch

  private let parser = JSONParser()
  private var state = State.idle
  private var epoch: UInt32 = 0
  private var commits = CommitState()
  private var memory = CompletionMemory()
  private var nextCommit: UInt64 = 0
  private var endedLoops = 0

  private enum State {
    /// No partitions, or serving them.
    case idle
    case assigned
    /// Waiting for this many loops to give their partitions back.
    case releasing(loops: Int, lost: Bool)
    case stopping(loops: Int)
    case stopped
  }

  init(
    _ settings: SenderSettings, _ context: ServiceContext, topics: TopicNames,
    consumer: KafkaGroupConsumer, tokens: KafkaTable, requests: TokenRequests,
    inbox: Mailbox<ControlMessage>, loops: [Mailbox<LoopMessage>]
  ) {
    self.settings = settings
    self.context = context
    self.topics = topics
    self.consumer = consumer
    self.tokens = tokens
    self.requests = requests
    self.inbox = inbox
    self.loops = loops
    certificates = CertificateWatch(settings.certificates, context)
  }

  /// Runs until a stop was requested and every loop has ended.
  func run() throws(ServiceFailure) {
    do {
      let poller = try Poller(capacity: 8)
      try poller.add(inbox.wakeup.fd, token: 0, .readable)
      context.signals.subscribe(inbox.wakeup)
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: Self.turnMilliseconds, into: &ready)
        inbox.wakeup.clear()
        try turn()
        if case .stopped = state { break }
      }
    } catch let error as KafkaError {
      throw ServiceFailure("\(error)")
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private func turn() throws {
    for message in inbox.drain() { try take(message) }
    readTokens()
    while canChangeAssignment, let event = consumer.nextEvent(timeoutMilliseconds: 0) {
      try take(event)
    }
    requests.turn()
    if context.signals.takeReload(), let access = certificates.reload(settings) {
      tell(.access(access))
    }
    certificates.turn()
    try commitIfDue()
    if context.signals.isStopping { beginStop() }
  }

  /// A further rebalance waits in the queue until the loops have let go.
  private var canChangeAssignment: Bool {
    if case .releasing = state { return false }
    return true
  }

  // MARK: Loops

  private func take(_ message: ControlMessage) throws {
    switch message {
    case .progress(let progress): commits.note(progress)
    case .tokenWanted(let request): requests.want(request)
    case .released(let progress):
      commits.note(progress)
      guard case .releasing(let waiting, let lost) = state else { return }
      if waiting > 1 {
        state = .releasing(loops: waiting - 1, lost: lost)
      } else {
        try finishRelease(lost: lost)
      }
    case .ended:
      guard case .stopping(let waiting) = state else {
        throw ServiceFailure("a sender loop ended by itself; see its last log line")
      }
      if waiting > 1 {
        state = .stopping(loops: waiting - 1)
      } else {
        commitAtRevocation()
        consumer.close()
        requests.close()
        state = .stopped
      }
    }
  }

  private func tell(_ message: LoopMessage) {
    for loop in loops { loop.post(message) }
  }

  private func readTokens() {
    tokens.poll(timeoutMilliseconds: 0) { key, value in
      guard let value else {
        return tell(.providerTokenRemoved(credential: String(decoding: key, as: UTF8.self)))
      }
      do throws(RecordError) {
        tell(.providerToken(try ProviderTokenRecord(value, parser: parser).entry))
      } catch {
        context.log.warning("ignoring a provider token record", ["error": "\(error)"])
      }
    }
  }

  // MARK: The group

  private func take(_ event: GroupEvent) throws {
    switch event {
    case .assigned(let partitions): try assign(partitions)
    case .revoked(_, let lost): beginRelease(lost: lost)
    case .offsetsCommitted(let results, let error):
      commits.answered(results)
      if let error { context.log.debug("commit refused; trying again", ["error": "\(error)"]) }
    case .error(let error): context.log.warning("kafka", ["error": "\(error)"])
    case .fatal(let error): throw error
    }
  }

  private func assign(_ partitions: [TopicPartition]) throws {
    epoch += 1
    let committed = try consumer.committed(partitions, timeoutMilliseconds: 10_000)
    var grants = Array(repeating: [PartitionGrant](), count: loops.count)
    var starts: [PartitionStart] = []
    for entry in committed {
      guard let feed = feed(of: entry.partition.topic) else { continue }
      let loop = Int(entry.partition.partition) % loops.count
      let (next, completedAbove) = memory.resume(entry.partition, committed: entry.offset)
      let queue = consumer.openQueue(entry.partition, wakeup: loops[loop].wakeup)
      grants[loop].append(
        PartitionGrant(
          partition: entry.partition, feed: feed, epoch: epoch, nextOffset: next,
          completedAbove: completedAbove, queue: queue))
      commits.begin(entry.partition, epoch: epoch, committed: entry.offset, next: next)
      starts.append(PartitionStart(entry.partition, offset: next))
    }
    try consumer.assign(starts)
    for (loop, grants) in grants.enumerated() where !grants.isEmpty {
      loops[loop].post(.granted(grants))
    }
    state = .assigned
    context.log.info("partitions assigned", ["count": "\(partitions.count)"])
  }

  private func feed(of topic: String) -> Feed? {
    if topic == topics.notifications { return .lane(.transactional) }
    if topic == topics.notificationsBulk { return .lane(.bulk) }
    for tier in RetryTier.allCases where topic == topics.retries(tier) { return .retries(tier) }
    return nil
  }

  private func beginRelease(lost: Bool) {
    context.log.info("partitions revoked", ["lost": "\(lost)"])
    // What is lost belongs to somebody else already: nothing to wait for.
    let drain = lost ? 0 : UInt64(Self.rebalanceDrainMilliseconds)
    state = .releasing(loops: loops.count, lost: lost)
    tell(.release(deadline: MonotonicClock.milliseconds() + drain))
  }

  private func finishRelease(lost: Bool) throws {
    if !lost { commitAtRevocation() }
    commits.handOver(to: &memory)
    try consumer.unassign()
    state = .idle
  }

  private func beginStop() {
    guard !isStopping else { return }
    if case .releasing = state { return }
    state = .stopping(loops: loops.count)
    let drain = UInt64(settings.drainTimeoutMilliseconds)
    tell(.stop(deadline: MonotonicClock.milliseconds() + drain))
  }

  private var isStopping: Bool {
    switch state {
    case .stopping, .stopped: true
    default: false
    }
  }

  // MARK: Commits

  private func commitIfDue() throws {
    let now = MonotonicClock.milliseconds()
    guard now >= nextCommit, case .assigned = state else { return }
    nextCommit = now + UInt64(settings.commitIntervalMilliseconds)
    let due = commits.due()
    if !due.isEmpty { try consumer.commitAsync(due) }
  }

  /// Commits what is done while the partitions are still ours. A refusal costs duplicates, not records.
  private func commitAtRevocation() {
    let due = commits.everything()
    guard !due.isEmpty else { return }
    do throws(KafkaError) {
      try consumer.commit(due)
    } catch {
      context.log.warning(
        "the last offsets were not committed; the next owner sends what is above them again",
        ["error": "\(error)"])
    }
  }
}
