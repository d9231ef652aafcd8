// SPDX-License-Identifier: Apache-2.0

public import ConsumerGroup
public import Contract

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
/// It decides where a push goes (`route`), which credential has which pools, and which records are wanted. What becomes of a
/// push on a stream or of a connection is its `Pool`'s to decide, what becomes of a record or a partition `Workload`'s.
public struct Dispatcher: ~Copyable, Sendable {
  // Only its own events write to these: whatever decides below is given the parts that it needs, and never the whole.

  var work: Workload
  /// The pools of connections, each with the line of the pushes that wait for a stream.
  var pools: Pools
  /// The credentials that there are, and which pools serve each.
  var credentials: Credentials
  /// Records of the provider tokens' topic that were told and not applied yet.
  var backlog = ProviderTokenBacklog()
  /// Pushes whose app has no credential.
  var unresolved = SlotQueue()
  var rounds = Upkeep()
  var progress: Progress
  var intake = Intake()
  let settings: DispatchSettings

  /// Records taken from one partition before the next has its turn.
  public static let takeAtOnce = 64

  /// - Parameters:
  ///   - certificates: the client certificates that there are.
  ///   - now: monotonic milliseconds.
  ///   - wall: milliseconds since the epoch.
  ///   - seed: of the jitter.
  public init(
    _ settings: DispatchSettings, certificates: [CertificateBook.Entry] = [], now: UInt64,
    wall: Int64, seed: UInt64
  ) {
    self.settings = settings
    work = Workload(settings, Turn(now: now, wall: wall, seed: seed))
    progress = Progress(settings)
    pools = Pools(limits: settings.budget)
    credentials = Credentials(certificates: CertificateBook(certificates, now: wall / 1_000))
  }
}

extension Dispatcher {
  // MARK: Turns

  /// A turn of the owner begins: the time of all that it tells until the next one.
  public mutating func beginTurn(now: UInt64, wall: Int64) {
    work.turn.begin(now: now, wall: wall)
  }

  /// The next action to perform; nil when all are done.
  public mutating func nextAction() -> Action? { work.turn.nextAction() }

  /// When something is due that time alone makes due, in monotonic milliseconds.
  public var nextDue: UInt64 {
    var due = progress.due
    if let next = work.pushes.nextTimeOut { due = min(due, next) }
    if let next = work.partitions.nextRetryDue { due = min(due, next) }
    if work.paces.isInForce, let next = work.paces.nextDue { due = min(due, next) }
    if !backlog.isEmpty { return min(due, work.turn.now) }
    if !unresolved.isEmpty || pools.hasActive { due = min(due, rounds.due) }
    return due
  }

  // MARK: Records are taken

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
    if shouldRoute { route(slot) }
    return slot
  }

  // MARK: Pushes go out

  /// Sends what waits and can go now, also what waited for its device's turn or for room in its paces.
  public mutating func dispatch() {
    takeTurns()
    pools.dispatch(&work)
  }

  /// A push could not be sent after all.
  public mutating func notSent(_ slot: UInt32) {
    let id = work.takeBack(slot)
    pools[id.pool].notSent(slot, on: id.index, &work)
    pools.touch(id.pool)
  }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has ended.
  public mutating func expireDeadlines() {
    while let slot = work.timeOut() {
      let id = work.pushes[slot].connection
      // Others were answered since it was sent: the connection lives, this one request is ignored.
      let lastActivity = pools[id.pool].connectionSet.connections[id.index].lastActivity
      if lastActivity + work.pushes.timeout > work.turn.now { work.turn.count(.silentStreams) }
      work.turn.append(.reset(slot: slot, id))
    }
  }

  // MARK: Streams end

  /// APNs answered a push with 200.
  public mutating func accepted(_ slot: UInt32) {
    let id = work.close(slot)
    pools[id.pool].accepted(slot, on: id.index, &work)
  }

  /// A push was answered with anything else, by APNs or by something on the way to it.
  ///
  /// - Parameter retryAfter: seconds that the answer asked to wait; 0 if it did not.
  public mutating func refused(
    _ slot: UInt32, _ response: GatewayResponse, retryAfter: UInt32
  ) {
    let id = work.close(slot)
    let failed = pools[id.pool].refused(
      slot, on: id.index, response, retryAfter: UInt64(retryAfter) * 1_000, &work)
    goOn(with: slot, failed, of: id.pool)
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed it.
  ///   - isLost: the connection has ended, and the stream with it.
  public mutating func unanswered(_ slot: UInt32, isUnprocessed: Bool, isLost: Bool) {
    let timedOut = work.pushes[slot].life.state == .timedOut
    let id = work.close(slot, isUnprocessed: isUnprocessed)
    let failed = pools[id.pool].unanswered(
      slot, on: id.index, isUnprocessed: isUnprocessed, timedOut: timedOut, isLost: isLost, &work)
    goOn(with: slot, failed, of: id.pool)
  }

  private mutating func goOn(with slot: UInt32, _ failed: Pool.Failed, of pool: Int32) {
    guard case .goesAgain(let isLast) = failed else { return }
    if !pools[pool].isRetired,
      credentials.credential(for: work.pushes[slot]) == pools[pool].credential
    {
      pools[pool].enqueue(slot, isLast: isLast, &work)
      pools.touch(pool)
    } else {
      // The credential has gone while the push was open, or serves other apps now.
      work.tell(slot) { $0.leavePool() }
      route(slot)
    }
  }

  // What a shell asks for each push is `mutating`, although it only reads: a borrow of so large a value is passed as a
  // copy.

  /// Time of day of a push's last send, in milliseconds.
  public mutating func sentAt(_ slot: UInt32) -> Int64 { work.pushes[slot].sentAt }

  /// Kafka has what a push, or a record that was none, ended in.
  public mutating func acknowledged(_ origin: Origin) { work.acknowledged(origin) }

  // MARK: Connections

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  public mutating func lookedUp(_ pool: Int32, _ addresses: [PeerAddress]?) {
    pools.touch(pool)
    pools.tell(pool, &work) { $0.lookedUp(addresses, &$1) }
  }

  /// Something happened to a connection.
  public mutating func handle(_ event: ConnectionEvent, of id: ConnectionID) {
    if case .touched = event {
      // What goes on on its streams; nothing to count.
      pools.touch(id.pool)
      pools[id.pool].handle(event, of: id.index, &work.turn)
    } else {
      pools.tell(id.pool, &work) { $0.handle(event, of: id.index, &$1.turn) }
    }
  }

  // MARK: Partitions

  /// A partition is the loop's now.
  ///
  /// - Returns: its number until all are given back.
  public mutating func granted(_ start: GrantedPartition) -> Int {
    let partition = work.granted(start)
    signalled(partition)
    return partition
  }

  /// A window of `apns-id`s has been rebuilt; if its partition waits for all of it, it begins to be read.
  public mutating func inherit(_ window: DedupWindow, by partition: Int, isWhole: Bool) {
    work.inherit(window, by: partition, isWhole: isWhole)
  }

  /// The partitions are asked back: nothing more is taken, what waits unsent is dropped (its next owner sends it), and
  /// what is in flight gets until the deadline (monotonic milliseconds).
  ///
  /// - Parameter isLast: nothing is given to the loop afterwards.
  public mutating func drain(until deadline: UInt64, isLast: Bool = false) {
    work.drain(until: deadline, isLast: isLast)
    handBack()
    takeTurns()
  }

  /// A drain under way has less time than it was told.
  public mutating func shortenDrain(until deadline: UInt64) {
    if !work.partitions.isFeeding { work.drain(until: deadline, isLast: false) }
  }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up; nil until then.
  public mutating func handOver() -> [HandedOverPartition]? {
    work.partitions.isHandOverDue(now: work.turn.now) ? work.handOver() : nil
  }

  // MARK: Time goes by

  /// Looks after pools, connections and credentials.
  ///
  /// - Returns: false when that is not due yet.
  public mutating func upkeep() -> Bool {
    guard let due = rounds.begin(now: work.turn.now) else { return false }
    let waiting = unresolved.count + pools.lookAfterActive(&work)
    work.turn.set(.waiting, waiting)
    if due.isRound {
      pools.lookAfterIdle(&work)
      refreshCredentials()
      pools.closeIdle(&work.turn)
    }
    pools.removeRetired(&work.turn)
    if due.isExpiry { expireWaiting() }
    return true
  }

  /// The progress that may be committed, and anomalies; nil while that is not due yet.
  public mutating func report() -> [PartitionReport]? {
    progress.isDue(now: work.turn.now) ? work.report() : nil
  }

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

  /// The number of pushes that were created at this time (milliseconds since the epoch) or earlier, and the slot of
  /// each partition's oldest one, by its offset.
  public func oldPushes(createdBy wall: Int64) -> (count: Int, oldest: [UInt32?]) {
    (work.pushes.count(createdBy: wall), work.pushes.oldest(of: work.partitions))
  }

  /// The partitions of this assignment by their numbers, and whether they were asked back for good.
  public var partitions: Range<Int> { work.partitions.indices }
  public var isStopping: Bool { work.partitions.isStopping }

  /// Counts assignments; a push of an earlier one completes no offset.
  public var epoch: UInt32 { work.partitions.epoch }

  /// Outcomes and other records that Kafka has not acknowledged yet.
  public var unacknowledged: Int { work.unacknowledged }

  /// The progress of a partition.
  public func standing(of partition: Int) -> PartitionSnapshot {
    work.partitions[partition].standing(now: work.turn.now)
  }

  /// The pools that there are or were, by their numbers.
  public var poolNumbers: Range<Int32> { pools.indices }

  /// The state of a pool; nil for one that was removed.
  public func standing(ofPool pool: Int32) -> PoolSnapshot? { pools[pool].standing }

  /// The id of a credential.
  public func credential(_ index: Int) -> String {
    credentials.tokens.entries[index].credential
  }

  /// The provider token of a pool, a secret; nil while there is none that may be sent.
  public func token(ofPool pool: Int32) -> [UInt8]? { pools[pool].token }

  /// The connections of a pool.
  public func connections(ofPool pool: Int32) -> [Connection] { pools[pool].allConnections }

  /// A connection that is there.
  public func connection(_ id: ConnectionID) -> Connection { pools[id.pool][id.index] }
}
