// SPDX-License-Identifier: Apache-2.0

public import APNS
public import Delivery
internal import Pipeline

/// One loop of the sender as a value: it is told what happens and says what is to be done.
///
/// Each verb is an event: a record was taken, a push was accepted or refused, a connection ended, a token came, Kafka
/// acknowledged, partitions were given or asked back, time went by. What is to be done follows as actions, which name
/// slots, connections and pools by number. The owner performs them before it tells the next event. It owns the bytes,
/// the sockets and Kafka's handles; nothing here knows them, or a clock: `beginTurn` tells the time.
///
/// The way of a push: `nextTake` asks for a record, `accept` gives it a slot and routes it into its pool's line,
/// `dispatch` sends it, `accepted`, `refused` or `unanswered` ends it in a receipt, a retry or a dead letter, and
/// `acknowledged` completes its offset.
///
/// It decides nothing itself: each event goes to the value that decides, with what else that needs.
public struct Dispatcher: ~Copyable, Sendable {
  public private(set) var turn: Turn
  public internal(set) var work: Workload
  public private(set) var destinations: Destinations
  private let connecting: Connecting
  private let sending: Sending
  private var intake = Intake()
  private var rounds: Upkeep
  private var progress: Progress

  /// - Parameters:
  ///   - certificates: the client certificates that there are.
  ///   - now: monotonic milliseconds.
  ///   - wall: milliseconds since the epoch.
  ///   - seed: of the jitter.
  public init(
    _ settings: DispatchSettings, certificates: [CertificateBook.Entry] = [], now: UInt64,
    wall: Int64, seed: UInt64
  ) {
    turn = Turn(now: now, wall: wall, seed: seed)
    work = Workload(settings)
    destinations = Destinations(
      settings, certificates: CertificateBook(certificates, now: wall / 1_000))
    connecting = Connecting(settings)
    sending = Sending(settings)
    rounds = Upkeep(connecting, sending)
    progress = Progress(settings)
  }

  // MARK: Turns

  /// A turn of the owner begins: the time of all that it tells until the next one.
  public mutating func beginTurn(now: UInt64, wall: Int64) { turn.begin(now: now, wall: wall) }

  /// The next action to perform; nil when all are done.
  public mutating func nextAction() -> Action? { turn.nextAction() }

  /// When something is due that time alone makes due, in monotonic milliseconds.
  public var nextDue: UInt64 {
    if !destinations.credentials.backlog.isEmpty { return turn.now }
    var due = progress.due
    if let next = work.pushes.nextTimeOut { due = min(due, next) }
    if let next = work.partitions.nextRetryDue { due = min(due, next) }
    return destinations.isBusy ? min(due, rounds.due) : due
  }

  // MARK: Records are taken

  /// Records taken from one partition before the next has its turn.
  public static let takeAtOnce = 64

  /// A partition's queue has records.
  public mutating func signalled(_ partition: Int) { work.partitions.signalled(partition) }

  /// Any partition's queue may have records.
  public mutating func signalledAll() { work.partitions.signalledAll() }

  /// Whether a turn right now would find records and room for them.
  public mutating func canTake(isProducerOpen: Bool) -> Bool {
    intake.canTake(isProducerOpen: isProducerOpen, &destinations, &work, now: turn.now)
  }

  /// A turn's intake begins.
  public mutating func beginIntake() {
    intake.begin(&destinations, &work, &turn)
  }

  /// What is to be taken next; `took` follows. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  public mutating func nextTake(isProducerOpen: Bool) -> Take? {
    intake.next(isProducerOpen: isProducerOpen, &destinations, &work, &turn)
  }

  /// So many records were taken of those that were asked for last, and told one by one.
  public mutating func took(_ count: Int) { intake.took(count, &work.partitions) }

  /// A record comes: whether it is to be worked on. If so `accept` or `acceptUnreadable` follows.
  public mutating func admit(_ offset: Int64, from partition: Int) -> OffsetLedger.Admission {
    work.admit(offset, from: partition, &turn)
  }

  /// A record that an earlier assignment completed: a later one with its id is still a repeat.
  public mutating func remember(_ id: NotificationID, from partition: Int) {
    guard !work.partitions[partition].isRetry else { return }
    _ = work.partitions.isFirst(id, in: partition)
  }

  /// A record that is no notification: its owner writes a dead letter.
  ///
  /// - Returns: what the acknowledgement of that completes.
  public mutating func acceptUnreadable(_ offset: Int64, from partition: Int) -> Origin {
    work.acceptUnreadable(offset, from: partition, &turn)
  }

  /// Takes a notification in. Whatever it is, it ends in an outcome.
  ///
  /// - Parameter written: the record's timestamp, in milliseconds since the epoch.
  /// - Returns: its slot, in which the owner keeps its bytes until its end.
  public mutating func accept(
    _ facts: PushFacts, offset: Int64, from partition: Int, written: Int64
  ) -> UInt32 {
    let (slot, goesOn) = work.accept(
      facts, offset: offset, from: partition, written: written, &turn)
    if goesOn { destinations.route(slot, &work, &turn) }
    return slot
  }

  /// Lets the pushes go whose device's turn has come.
  public mutating func takeTurns() {
    while let slot = work.nextTurn() {
      if work.isCurrent(slot) {
        destinations.route(slot, &work, &turn)
      } else {
        work.handBack(slot, &turn)
      }
    }
  }

  /// An operator has paused or resumed apps or lanes: this is what is paused now. What is under way goes on.
  public mutating func update(_ pauses: Pauses) {
    work.update(pauses)
    while let slot = work.takeResumed() { destinations.route(slot, &work, &turn) }
  }

  // MARK: Pushes go out

  /// Sends what waits and can go now.
  public mutating func dispatch() { sending.dispatch(&destinations.pools, &work, &turn) }

  /// A push could not be sent after all.
  public mutating func notSent(_ slot: UInt32) {
    sending.notSent(slot, &destinations.pools, &work, &turn)
  }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has ended.
  public mutating func expireDeadlines() {
    sending.expireDeadlines(destinations.pools, &work, &turn)
  }

  // MARK: Streams end

  /// APNs answered a push with 200.
  public mutating func accepted(_ slot: UInt32) {
    EndedStream(slot, &destinations.pools, &work).accepted(&destinations.pools, &work, &turn)
  }

  /// A push was answered with anything else, by APNs or by something on the way to it.
  ///
  /// - Parameter retryAfter: seconds that the answer asked to wait; 0 if it did not.
  public mutating func refused(
    _ slot: UInt32, _ response: GatewayResponse, retryAfter: UInt32
  ) {
    EndedStream(slot, &destinations.pools, &work).refused(
      response, retryAfter: UInt64(retryAfter) * 1_000, &destinations, &work, &turn)
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed it.
  ///   - isLost: the connection has ended, and the stream with it.
  public mutating func unanswered(_ slot: UInt32, isUnprocessed: Bool, isLost: Bool) {
    let timedOut = work.pushes[slot].life.state == .timedOut
    EndedStream(slot, isUnprocessed: isUnprocessed, &destinations.pools, &work).unanswered(
      isUnprocessed: isUnprocessed, timedOut: timedOut, isLost: isLost, &destinations, &work, &turn)
  }

  // What a shell asks for each push is `mutating`, although it only reads: a borrow of so large a value is passed as a
  // copy.

  /// What a push's receipt says of it.
  public mutating func ending(_ slot: UInt32) -> PushStates.Ending { work.pushes.ending(slot) }

  /// Time of day of a push's last send, in milliseconds.
  public mutating func sentAt(_ slot: UInt32) -> Int64 { work.pushes.sentAt(slot) }

  /// Kafka has what a push, or a record that was none, ended in.
  public mutating func acknowledged(_ origin: Origin) { work.partitions.acknowledged(origin) }

  // MARK: Connections

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  public mutating func lookedUp(_ pool: Int32, _ addresses: [PeerAddress]?) {
    destinations.pools.endedLookUp(pool)
    destinations.pools.touch(pool)
    guard !work.partitions.isStopping, !destinations.pools[pool].isRetired else { return }
    connecting.lookedUp(pool, addresses, &destinations.pools, &turn)
  }

  /// A connection could not even be begun.
  public mutating func notOpened(_ number: Int32) {
    connecting.notOpened(number, &destinations.pools, &turn)
  }

  /// A connection came a step nearer to TLS: TCP is up, the proxy's tunnel, or the gateway has said something.
  public mutating func advanced(_ number: Int32) {
    connecting.advanced(number, &destinations.pools, now: turn.now)
  }

  /// TLS is up.
  public mutating func connected(_ number: Int32) {
    connecting.connected(number, &destinations.pools, now: turn.now)
  }

  /// Something came from a connection's gateway.
  ///
  /// - Parameter limit: streams that the gateway allows at once now. Streams that crossed a falling limit came back
  ///   refused: that is judged by the new one.
  public mutating func touched(_ number: Int32, limit: Int) {
    destinations.pools.touch(connection: number, limit: limit)
  }

  /// The gateway allows so many streams at once. Before it has said so nothing is known of it, so nothing is sent.
  public mutating func settings(_ number: Int32, limit: Int) {
    destinations.pools.connections.settings(number, limit: limit)
    connecting.ready(number, &destinations.pools, &turn)
  }

  /// The gateway is leaving.
  ///
  /// - Parameter isError: it says with its code that something is wrong.
  public mutating func goAway(_ number: Int32, _ reason: Reason?, isError: Bool = false) {
    connecting.goAway(number, reason, isError: isError, &destinations.pools, &turn)
  }

  /// The gateway answered a PING.
  public mutating func ponged(_ number: Int32) {
    destinations.pools.connections.ponged(number, &turn)
  }

  /// A connection is over, and all its streams have ended.
  ///
  /// - Parameter isFailure: not in good order.
  public mutating func closed(_ number: Int32, isFailure: Bool) {
    connecting.closed(number, isFailure: isFailure, &destinations.pools, &turn)
  }

  // MARK: Credentials

  /// Records of the provider tokens' topic have come, in this order.
  ///
  /// - Parameter isComplete: all credentials that the topic had at the start are known.
  public mutating func updateTokens(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    destinations.credentials.backlog.append(updates, isComplete: isComplete)
  }

  /// Applies some of the records that have come.
  public mutating func applyTokens() { destinations.applyTokens(&work, &turn) }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  public mutating func updateCertificates(_ entries: [CertificateBook.Entry], places: [Int?]) {
    destinations.updateCertificates(entries, places: places, &work, &turn)
  }

  // MARK: Partitions

  /// Whether the loop feeds: it has its partitions and nobody has asked for them back.
  public var isFeeding: Bool { work.partitions.isFeeding }

  /// A partition is the loop's now.
  ///
  /// - Returns: its number until all are given back.
  public mutating func granted(_ start: GrantedPartition) -> Int { work.granted(start) }

  /// A window of `apns-id`s has been rebuilt; if its partition waits for all of it, it begins to be read.
  public mutating func inherit(_ window: DedupWindow, by partition: Int, isWhole: Bool) {
    work.partitions[partition].inherit(window, isWhole: isWhole)
    if isWhole { turn.count(.dedupRebuilds) }
  }

  /// The partitions are asked back: nothing more is taken, what waits unsent is dropped (its next owner sends it), and
  /// what is in flight gets until the deadline (monotonic milliseconds).
  public mutating func release(until deadline: UInt64) {
    work.partitions.release(until: deadline)
    destinations.handBack(&work, &turn)
    work.handBackEarly(&turn)
    takeTurns()
  }

  /// A release under way has less time than it was told.
  public mutating func shortenRelease(until deadline: UInt64) {
    work.partitions.shortenRelease(until: deadline)
  }

  /// The same as `release`, and nothing is given to the loop afterwards.
  public mutating func stop(until deadline: UInt64) {
    work.partitions.stop()
    release(until: deadline)
  }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up; nil until then.
  public mutating func handOver() -> [HandedOverPartition]? { work.handOver(now: turn.now) }

  // MARK: Time goes by

  /// Looks after pools, connections and credentials.
  ///
  /// - Returns: false when that is not due yet.
  public mutating func upkeep() -> Bool { rounds.run(&destinations, &work, &turn) }

  /// What may be committed, and what is strange; nil while that is not due yet.
  public mutating func report() -> [PartitionReport]? { progress.report(&work, &turn) }

  /// How far a partition is.
  public mutating func standing(of partition: Int) -> PartitionStanding {
    work.partitions[partition].standing(now: turn.now)
  }
}
