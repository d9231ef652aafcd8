// SPDX-License-Identifier: Apache-2.0

public import APNS
public import ConsumerGroup
import Contract
public import Credentials

/// One loop of the sender as a value: it is told what happens and says what is to be done.
///
/// Each verb is an event: a record was taken, a push was accepted or refused, a connection ended, a token came, Kafka
/// acknowledged, partitions were given or asked back, time went by. What is to be done follows as actions, which name
/// slots, connections and pools by number. The owner performs them before it tells the next event. It owns the bytes,
/// the sockets and Kafka's handles; nothing here knows them, or a clock: `beginTurn` tells the time.
///
/// The way of a push: `nextReadRequest` asks for a record, `accept` gives it a slot and routes it into its pool's line,
/// `dispatch` sends it, `accepted`, `refused` or `unanswered` ends it in a receipt, a retry or a dead letter, and
/// `acknowledged` completes its offset.
///
/// It decides nothing itself: each event goes to the value that decides, with what else that needs.
public struct Dispatcher: ~Copyable, Sendable {
  private(set) var work: Workload
  private(set) var destinations: Destinations
  private var intake = Intake()

  /// - Parameters:
  ///   - certificates: the client certificates that there are.
  ///   - now: monotonic milliseconds.
  ///   - wall: milliseconds since the epoch.
  ///   - seed: of the jitter.
  public init(
    _ settings: DispatchSettings, certificates: [CertificateBook.Entry] = [], now: UInt64,
    wall: Int64, seed: UInt64
  ) {
    work = Workload(settings, Turn(now: now, wall: wall, seed: seed))
    destinations = Destinations(
      settings, certificates: CertificateBook(certificates, now: wall / 1_000))
  }

  // MARK: Turns

  /// A turn of the owner begins: the time of all that it tells until the next one.
  public mutating func beginTurn(now: UInt64, wall: Int64) {
    work.turn.begin(now: now, wall: wall)
  }

  /// The next action to perform; nil when all are done.
  public mutating func nextAction() -> Action? { work.turn.nextAction() }

  /// When something is due that time alone makes due, in monotonic milliseconds.
  public var nextDue: UInt64 {
    var due = work.reportDue
    if let next = work.pushes.nextTimeOut { due = min(due, next) }
    if let next = work.partitions.nextRetryDue { due = min(due, next) }
    if work.paces.isInForce, let next = work.paces.nextDue { due = min(due, next) }
    if let next = destinations.nextDue(now: work.turn.now) { due = min(due, next) }
    return due
  }

  // MARK: Records are taken

  /// Records taken from one partition before the next has its turn.
  public static let takeAtOnce = 64

  /// A partition's queue has records.
  public mutating func signalled(_ partition: Int) { work.signalled(partition) }

  /// Any partition's queue may have records.
  public mutating func signalledAll() { work.signalledAll() }

  /// True if a turn right now would find records and room for them.
  public mutating func canTake(isProducerOpen: Bool) -> Bool {
    intake.canTake(isProducerOpen: isProducerOpen, &destinations, &work)
  }

  /// Records wait, if not for room then for their turn.
  public var hasReady: Bool { work.partitions.firstReady(in: work.partitions.indices) != nil }

  /// A turn's intake begins.
  public mutating func beginIntake() {
    intake.begin(&destinations, &work)
  }

  /// The records to take next; `took` follows. Nil: nothing more in this turn.
  ///
  /// - Parameter isProducerOpen: the producer takes further records now.
  public mutating func nextReadRequest(isProducerOpen: Bool) -> ReadRequest? {
    intake.next(isProducerOpen: isProducerOpen, &destinations, &work)
  }

  /// So many records were taken of those that were asked for last, and told one by one.
  public mutating func took(_ count: Int) {
    if let partition = intake.took(count, work.partitions) { work.foundEmpty(partition) }
  }

  /// A record comes: whether it is to be worked on. If so `accept` or `acceptUnreadable` follows.
  public mutating func admit(_ offset: Int64, from partition: Int) -> OffsetLedger.Admission {
    work.admit(offset, from: partition)
  }

  /// A record that an earlier assignment completed: a later one with its id is still a repeat, and an older one with its key
  /// is superseded.
  public mutating func remember(
    _ id: NotificationID, payload: UInt16 = 0, _ state: StateFacts = .none, at offset: Int64,
    from partition: Int
  ) {
    work.remember(id, payload: payload, state, at: offset, from: partition)
  }

  /// A record of a lane that says that an id is free again: what it was taken for has ended without being accepted. That is
  /// all that the record is for.
  public mutating func free(_ id: NotificationID, at offset: Int64, from partition: Int) {
    work.free(id, at: offset, from: partition)
  }

  /// A record that is no notification: its owner writes a dead letter.
  ///
  /// - Returns: what the acknowledgement of that completes.
  public mutating func acceptUnreadable(_ offset: Int64, from partition: Int) -> Origin {
    work.acceptUnreadable(offset, from: partition)
  }

  /// Takes a notification in. Whatever it is, it ends in an outcome.
  ///
  /// - Parameter written: the record's timestamp, in milliseconds since the epoch.
  /// - Returns: its slot, in which the owner keeps its bytes until its end.
  public mutating func accept(
    _ facts: PushFacts, offset: Int64, from partition: Int, written: Int64
  ) -> UInt32 {
    let (slot, shouldRoute) = work.accept(
      facts, offset: offset, from: partition, written: written)
    if shouldRoute { destinations.route(slot, &work) }
    return slot
  }

  /// Lets the pushes go whose device's turn has come, and those for which there is room in their paces.
  public mutating func takeTurns() {
    work.releasePaced()
    while let slot = work.nextPaced() { destinations.route(slot, &work) }
    while let slot = work.nextTurn() {
      if work.isCurrent(slot) {
        destinations.route(slot, &work)
      } else {
        work.handBack(slot)
      }
    }
  }

  /// Apps, lanes or campaigns are held or go on: this is what is held now. What is under way goes on.
  public mutating func update(_ pauses: Pauses) {
    for slot in work.update(pauses) { destinations.route(slot, &work) }
    while let slot = work.popResumed() { destinations.route(slot, &work) }
  }

  /// An operator has set or cleared paces: these are in force now.
  public mutating func update(_ paces: Paces) {
    for slot in work.update(paces) { destinations.route(slot, &work) }
  }

  /// Devices were removed, have changed their owner, or may be used again.
  public mutating func update(_ news: [DeviceNews]) { work.update(news) }

  /// The loops of all senders together have so many partitions now, of which this one keeps its part of each pace.
  public mutating func update(_ totals: PartitionTotals) { work.update(totals) }

  // MARK: Pushes go out

  /// Sends what waits and can go now.
  public mutating func dispatch() { destinations.dispatch(&work) }

  /// A push could not be sent after all.
  public mutating func notSent(_ slot: UInt32) { destinations.notSent(slot, &work) }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has ended.
  public mutating func expireDeadlines() { destinations.expireDeadlines(&work) }

  // MARK: Streams end

  /// APNs answered a push with 200.
  public mutating func accepted(_ slot: UInt32) { destinations.accepted(slot, &work) }

  /// A push was answered with anything else, by APNs or by something on the way to it.
  ///
  /// - Parameter retryAfter: seconds that the answer asked to wait; 0 if it did not.
  public mutating func refused(
    _ slot: UInt32, _ response: GatewayResponse, retryAfter: UInt32
  ) {
    destinations.refused(slot, response, retryAfter: UInt64(retryAfter) * 1_000, &work)
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed it.
  ///   - isLost: the connection has ended, and the stream with it.
  public mutating func unanswered(_ slot: UInt32, isUnprocessed: Bool, isLost: Bool) {
    destinations.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost, &work)
  }

  // What a shell asks for each push is `mutating`, although it only reads: a borrow of so large a value is passed as a
  // copy.

  /// The end of a push, for its receipt.
  public mutating func ending(_ slot: UInt32) -> PushStates.Ending { work.pushes.ending(slot) }

  /// Time of day of a push's last send, in milliseconds.
  public mutating func sentAt(_ slot: UInt32) -> Int64 { work.pushes.sentAt(slot) }

  /// Kafka has what a push, or a record that was none, ended in.
  public mutating func acknowledged(_ origin: Origin) { work.acknowledged(origin) }

  // MARK: Connections

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  public mutating func lookedUp(_ pool: Int32, _ addresses: [PeerAddress]?) {
    destinations.lookedUp(pool, addresses, &work)
  }

  /// Something happened to a connection.
  public mutating func handle(_ event: ConnectionEvent, of id: ConnectionID) {
    destinations.tell(id.pool, &work) { $0.handle(event, of: id.index, &$1.turn) }
  }

  /// Something came from a connection's gateway.
  ///
  /// - Parameter limit: streams that the gateway allows at once now. Streams that crossed a falling limit came back
  ///   refused: that is judged by the new one.
  public mutating func touched(_ id: ConnectionID, limit: Int) {
    destinations.touch(id, limit: limit)
  }

  // MARK: Credentials

  /// Records of the provider tokens' topic have come, in this order.
  ///
  /// - Parameter isComplete: all credentials that the topic had at the start are known.
  public mutating func updateTokens(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    destinations.updateTokens(updates, isComplete: isComplete)
  }

  /// Applies some of the records that have come.
  public mutating func applyTokens() { destinations.applyTokens(&work) }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  public mutating func updateCertificates(_ entries: [CertificateBook.Entry], places: [Int?]) {
    destinations.updateCertificates(entries, places: places, &work)
  }

  // MARK: Partitions

  /// True if the loop topicKinds: it has its partitions and nobody has asked for them back.
  public var isFeeding: Bool { work.partitions.isFeeding }

  /// A partition is the loop's now.
  ///
  /// - Returns: its number until all are given back.
  public mutating func granted(_ start: GrantedPartition) -> Int { work.granted(start) }

  /// A window of `apns-id`s has been rebuilt; if its partition waits for all of it, it begins to be read.
  public mutating func inherit(_ window: DedupWindow, by partition: Int, isWhole: Bool) {
    work.inherit(window, by: partition, isWhole: isWhole)
  }

  /// The partitions are asked back: nothing more is taken, what waits unsent is dropped (its next owner sends it), and
  /// what is in flight gets until the deadline (monotonic milliseconds).
  public mutating func drain(until deadline: UInt64) {
    work.drain(until: deadline)
    destinations.handBack(&work)
    work.handBackEarly()
    takeTurns()
  }

  /// A drain under way has less time than it was told.
  public mutating func shortenDrain(until deadline: UInt64) {
    work.shortenDrain(until: deadline)
  }

  /// The same as `drain`, and nothing is given to the loop afterwards.
  public mutating func stop(until deadline: UInt64) {
    work.stop()
    drain(until: deadline)
  }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up; nil until then.
  public mutating func handOver() -> [HandedOverPartition]? { work.handOver() }

  // MARK: Time goes by

  /// Looks after pools, connections and credentials.
  ///
  /// - Returns: false when that is not due yet.
  public mutating func upkeep() -> Bool { destinations.upkeep(&work) }

  /// The progress that may be committed, and anomalies; nil while that is not due yet.
  public mutating func report() -> [PartitionReport]? { work.report() }

  // MARK: Its state, for shells, status pages and tests

  /// The paces that are in force.
  public var paces: [PaceSnapshot] { work.paces.standings }

  /// The time of this turn: monotonic milliseconds, and milliseconds since the epoch.
  public var now: UInt64 { work.turn.now }
  public var wall: Int64 { work.turn.wall }
  public var counts: Counts { work.turn.counts }

  /// Pushes that were taken and have not ended.
  public var pushCount: Int { work.pushes.count }

  /// The state of a push.
  public mutating func push(_ slot: UInt32) -> PushState { work.pushes[slot] }

  /// The number of pushes that were created at this time (milliseconds since the epoch) or earlier.
  public func pushes(createdBy wall: Int64) -> Int { work.pushes.count(createdBy: wall) }

  /// The slot of each partition's oldest push, by its offset.
  public func oldestPushes() -> [UInt32?] { work.pushes.oldest(of: work.partitions) }

  /// The partitions of this assignment by their numbers, and whether they were asked back for good.
  public var partitions: Range<Int> { work.partitions.indices }
  public var isStopping: Bool { work.partitions.isStopping }

  /// Counts assignments; a push of an earlier one completes no offset.
  public var epoch: UInt32 { work.partitions.epoch }

  /// Outcomes and other records that Kafka has not acknowledged yet.
  public var unacknowledged: Int { work.partitions.unacknowledged }

  /// The progress of a partition.
  public mutating func standing(of partition: Int) -> PartitionSnapshot {
    work.standing(of: partition)
  }

  /// Records of a partition that were taken and are not complete.
  public func openRecords(of partition: Int) -> Int { work.partitions[partition].open }

  /// The pools that there are or were, by their numbers.
  public var pools: Range<Int32> { destinations.pools.indices }

  /// The state of a pool; nil for one that was removed.
  public func standing(ofPool pool: Int32) -> PoolSnapshot? { destinations.pools[pool].standing }

  /// The id of a credential.
  public func credential(_ index: Int) -> String {
    destinations.credentials.tokens.entries[index].credential
  }

  /// The provider token of a pool, a secret; nil while there is none that may be sent.
  public func token(ofPool pool: Int32) -> [UInt8]? { destinations.pools[pool].token }

  /// The connections of a pool.
  public func connections(ofPool pool: Int32) -> [Connection] {
    destinations.pools[pool].allConnections
  }

  /// A connection that is there.
  public func connection(_ id: ConnectionID) -> Connection {
    destinations.pools[id.pool][id.index]
  }
}
