// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import EventLoop
import HTTP2
import JSON
import Kafka
import Pipeline
import ServiceKit
import Settings
import TLS

/// One thread of the sender, and all that it owns: connections, Kafka queues, pushes in flight, offset
/// ledgers, a producer. It shares nothing with other loops but mailboxes for control messages.
///
/// A turn gathers everything that is ready, decides, and then acts once: one write a connection, receipts in
/// batches. Free stream credit is what pulls records out of Kafka; without it they stay in librdkafka's
/// queues, which then stop fetching.
final class SenderLoop {
  /// Records that may wait here for stream credit, so that a turn always finds some.
  static let lookahead = 64
  /// Records taken from one partition before the next has its turn.
  static let takeAtOnce = 64
  /// The longest sleep; a missed wake-up costs no more than this.
  private static let longestSleep: UInt64 = 100
  static let wakeupToken: UInt64 = 0
  static let queuesToken = UInt64.max

  let settings: SenderSettings
  let context: ServiceContext
  let counters = Counters<SenderCounter>()
  let telemetry = LoopTelemetry()
  /// Of `telemetry`, for what every push does.
  let recorder: LoopTelemetry.Recorder
  var nextStatus: UInt64 = 0
  private let heartbeat: Heartbeat
  var access: GatewayAccess
  let inbox: Mailbox<LoopMessage>
  let control: Mailbox<ControlMessage>
  let resolutions: Mailbox<Resolution>
  /// Says which partitions' queues have records, by index.
  let queueSignals = SourceSignals()
  let poller: Poller
  let resolver: Resolver
  let scratch = ConnectionScratch()
  let parser = JSONParser()
  let producer: KafkaProducer
  let topics: OutgoingTopics
  /// Only against the embedded broker.
  let holdBack: HoldBack?
  let retryPolicy: RetryPolicy

  // One thread owns the loop and no property is handed to a callback, so what every push touches goes without
  // the run-time checks of overlapping access, which were 8 % of its instructions.

  /// Monotonic and wall-clock milliseconds of this turn.
  @exclusivity(unchecked) var now = MonotonicClock.milliseconds()
  @exclusivity(unchecked) var wall = WallClock.milliseconds()
  var random: RandomBits

  @exclusivity(unchecked) var pushes = PushTable()
  @exclusivity(unchecked) var blocks = BlockPool()
  @exclusivity(unchecked) var deadlines: RequestDeadlines
  @exclusivity(unchecked) var partitions: [Partition] = []
  /// The partitions whose queues may have records: signalled, and not found empty since. What is asked in every
  /// turn is asked of these: a partition is large, and some hundred of them cost more than the pushes of a turn.
  @exclusivity(unchecked) var readyPartitions = ReadySet()
  /// The partitions of retry topics.
  var retryPartitions: [Int] = []
  @exclusivity(unchecked) var nextLane = 0
  @exclusivity(unchecked) var batch = KafkaBatch(capacity: SenderLoop.takeAtOnce)
  @exclusivity(unchecked) var book = ProviderTokenBook()
  @exclusivity(unchecked) var tokenBacklog = ProviderTokenBacklog()
  @exclusivity(unchecked) var certificates: CertificateBook
  /// Made at the first push; nil once a withdrawn credential's is empty.
  @exclusivity(unchecked) var pools: [GatewayPool?] = []
  /// The pool of a credential and of a client certificate, by `GatewayKind.place`; −1 for none yet.
  @exclusivity(unchecked) var tokenPools: [Int32] = []
  @exclusivity(unchecked) var certificatePools: [Int32] = []
  /// The pools with something going on, and those that may have pushes to dispatch in this turn. With a thousand
  /// credentials a turn concerns a few of them, and most of the connections are idle.
  @exclusivity(unchecked) var activePools: [Int32] = []
  @exclusivity(unchecked) var touchedPools: [Int32] = []
  /// Pools that were withdrawn and are not empty yet.
  var retiredPools: [Int32] = []
  /// By poller token − 1, the places that are free, and how many are not.
  var connections: [GatewayConnection?] = []
  var freePlaces: [Int] = []
  var connectionCount: Int { connections.count - freePlaces.count }
  /// Names being looked up for connections to come.
  var lookups = 0
  /// What all pools may have together.
  var budget: ConnectionBudget
  var nextIdleLook: UInt64 = 0
  @exclusivity(unchecked) var dirty: [GatewayConnection] = []
  /// Connections to close at the end of the turn.
  var closing: [GatewayConnection] = []
  @exclusivity(unchecked) var completed: [UnsafeMutablePointer<Exchange>] = []
  /// Whether all credentials that the topic held at the start are known: no app is unknown before.
  var knowsAllCredentials = false
  var nextHeldLook: UInt64 = 0
  /// Pushes whose app has no credential.
  var unresolved = SlotQueue()
  /// What each destination holds, and what becomes of records for one that holds much.
  @exclusivity(unchecked) var fairness = Fairness()
  /// Destinations that pushes may be for; counted anew when pools or credentials came or went.
  var knownDestinations = 0
  var hasNewDestinations = true
  /// The destination that stops the intake until it holds less.
  @exclusivity(unchecked) var heldUpBy: Int32?
  @exclusivity(unchecked) var deviceHolds = DeviceHolds()
  /// Apps for which a provider token was asked for a moment ago.
  var wantedTokens = DeviceHolds(capacity: 256)
  /// Only with `--ordered`.
  @exclusivity(unchecked) var order: DeviceOrder?
  /// Pushes whose device's turn has come.
  @exclusivity(unchecked) var turns = SlotQueue()
  @exclusivity(unchecked) var receipts = ReceiptBatches()
  /// A record was refused that cannot be made smaller: nothing is written nor taken in before (monotonic
  /// milliseconds).
  @exclusivity(unchecked) var refusedUntil: UInt64 = 0
  var producerWatch: ProducerWatch
  /// The producer had no room for receipts: time alone makes none, an acknowledgement does and wakes the loop.
  @exclusivity(unchecked) var isProducerFull = false
  @exclusivity(unchecked) var sides = SideRecords()
  var blockedSides: [BlockedSide] = []
  @exclusivity(unchecked) var deliveries: [Delivery] = []
  var ready: [ReadyEvent] = []
  /// Counts assignments; what a push of an earlier one completes is nobody's offset any more.
  @exclusivity(unchecked) var epochOfPartitions: UInt32 = 0
  /// When the control thread asked for the partitions back, until when to wait for answers.
  @exclusivity(unchecked) var releaseDeadline: UInt64?
  @exclusivity(unchecked) var isStopping = false
  var hasEnded = false
  var nextProgress: UInt64 = 0
  private var nextLook: UInt64 = 0
  var nextUpkeep: UInt64 = 0
  var nextRound: UInt64 = 0

  init(
    _ settings: SenderSettings, _ context: ServiceContext, access: GatewayAccess, names: TopicNames,
    cluster: ClusterView, inbox: Mailbox<LoopMessage>, control: Mailbox<ControlMessage>,
    seed: UInt64, name: String = "loop"
  ) throws {
    self.settings = settings
    self.context = context
    self.access = access
    certificates = CertificateBook(access.certificates.map(\.entry), now: WallClock.seconds())
    self.inbox = inbox
    self.control = control
    resolutions = Mailbox(wakeup: inbox.wakeup)
    resolver = try Resolver(answers: resolutions, hostsFile: settings.gatewayHosts)
    poller = try Poller(capacity: 256)
    producer = try KafkaProducer(cluster.configuration, wakeup: inbox.wakeup)
    producerWatch = ProducerWatch(context)
    topics = try OutgoingTopics(names, producer)
    holdBack = try HoldBack(
      cluster.configuration, OutgoingTopics.watched(names), counts: cluster.partitions,
      wakeup: inbox.wakeup)
    budget = ConnectionBudget(
      limits: .init(
        most: settings.connectionsPerLoop, idle: UInt64(settings.idleCloseMilliseconds)))
    retryPolicy = RetryPolicy(maximumAttempts: settings.maxAttempts)
    random = RandomBits(seed: seed)
    deadlines = RequestDeadlines(
      capacity: PushTable.slots(for: settings.maxInFlight),
      timeout: UInt64(settings.requestTimeoutMilliseconds))
    if settings.isOrdered {
      order = DeviceOrder(
        slots: PushTable.slots(for: settings.maxInFlight),
        waitingAtMost: max(1, settings.maxInFlight / 8))
    }
    try poller.add(inbox.wakeup.fd, token: Self.wakeupToken, .readable)
    try poller.add(queueSignals.fd, token: Self.queuesToken, .readable)
    heartbeat = context.status.heartbeat(name)
    recorder = telemetry.recorder
    context.counters.add(counters)
    context.counters.add(metrics: telemetry)
    context.status.show(name) { [telemetry] in telemetry.latest.json }
  }

  /// Runs turns until the control thread says stop and everything is handed over.
  func run() {
    while true {
      poller.wait(timeoutMilliseconds: sleepTime(), into: &ready)
      now = MonotonicClock.milliseconds()
      wall = WallClock.milliseconds()
      heartbeat.beat(now)
      turn()
      if isStopping, isEmptyHanded { break }
    }
    context.status.end(heartbeat)
    producer.close()
    control.post(.ended)
  }

  private func turn() {
    for event in ready {
      switch event.token {
      case Self.wakeupToken: wake()
      case Self.queuesToken: takeSignals()
      default: socketReady(event)
      }
    }
    if !tokenBacklog.isEmpty { learn() }
    lookAtAllQueues()
    takeDeliveries()
    expireDeadlines()
    intake()
    if !turns.isEmpty { takeTurns() }
    dispatchAll()
    upkeep()
    flushConnections()
    closeDoomed()
    flushReceipts()
    reportProgress()
    releaseIfDone()
    counters.set(.inFlight, pushes.count)
  }

  /// The wakeup was signalled: deliveries were reported, or somebody wrote to us.
  private func wake() {
    inbox.wakeup.clear()
    holdBack?.refresh()
    for message in inbox.drain() { take(message) }
    for resolution in resolutions.drain() { connect(resolution) }
  }

  /// Queues have records. A number may be left of an earlier assignment: then a queue is looked at in vain.
  private func takeSignals() {
    queueSignals.take { number in
      if Int(number) < partitions.count { readyPartitions.insert(Int(number)) }
    }
  }

  /// A signal that librdkafka did not give costs no more than the longest sleep.
  private func lookAtAllQueues() {
    guard now >= nextLook else { return }
    nextLook = now + Self.longestSleep
    readyPartitions.insertAll(below: partitions.count)
  }

  private func take(_ message: LoopMessage) {
    switch message {
    case .granted(let grants): for grant in grants { begin(grant) }
    case .window(let name, let epoch, let window, let isWhole):
      takeWindow(name, epoch: epoch, window, isWhole: isWhole)
    case .release(let deadline): beginRelease(deadline)
    case .hurryRelease(let deadline): if releaseDeadline != nil { releaseDeadline = deadline }
    case .providerTokens(let updates, let isComplete):
      tokenBacklog.append(updates, isComplete: isComplete)
    case .access(let access): renew(access)
    case .stop(let deadline):
      isStopping = true
      beginRelease(deadline)
    }
  }

  /// How long the poller may wait, in milliseconds: until the next thing that time alone makes due.
  private func sleepTime() -> Int32 {
    if canTakeMore || !tokenBacklog.isEmpty { return 0 }
    let now = MonotonicClock.milliseconds()
    var wake = now + Self.longestSleep
    if !receipts.isEmpty, !isProducerFull {
      wake = min(wake, receipts.begun + ReceiptBatches.ageAtMost)
    }
    if let due = deadlines.next { wake = min(wake, due) }
    wake = min(wake, max(nextProgress, now + 1))
    if let due = nextRetryDue { wake = min(wake, due) }
    if hasWaiting { wake = min(wake, nextUpkeep) }
    return Int32(clamping: wake > now ? wake - now : 0)
  }
}

/// The topics a loop writes to.
struct OutgoingTopics {
  let receipts: KafkaTopic
  let feedback: KafkaTopic
  let deadLetters: KafkaTopic
  /// By tier.
  let retries: [KafkaTopic]

  /// The topics that have a reader, in the order of `watchedIndex(of:)`.
  static func watched(_ names: TopicNames) -> [HoldBack.Watched] {
    [.init(topic: names.feedback, group: names.group(.feedback))]
      + RetryTier.allCases.map { .init(topic: names.retries($0), group: names.group(.sender)) }
  }

  /// The topic's number among the watched ones; nil for the rings (receipts, dead letters).
  func watchedIndex(of topic: KafkaTopic) -> Int? {
    if topic == feedback { return 0 }
    return retries.firstIndex(of: topic).map { $0 + 1 }
  }

  init(_ names: TopicNames, _ producer: KafkaProducer) throws(KafkaError) {
    receipts = try producer.topic(known: names.receipts)
    feedback = try producer.topic(known: names.feedback)
    deadLetters = try producer.topic(known: names.deadLetters)
    var tiers: [KafkaTopic] = []
    for tier in RetryTier.allCases { tiers.append(try producer.topic(known: names.retries(tier))) }
    retries = tiers
  }
}

/// Cheap random bits for jitter (xorshift64*, Vigna 2016); equal seeds, equal bits.
struct RandomBits {
  private var state: UInt64

  init(seed: UInt64) { state = seed | 1 }

  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 0x2545_F491_4F6C_DD1D
  }
}
