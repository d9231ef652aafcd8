// SPDX-License-Identifier: Apache-2.0

internal import ConsumerGroup
public import Contract

/// The origin of a record: a partition in the loop's table, the assignment it was read under, its offset.
public struct Origin: Sendable, Equatable {
  /// Index in the loop's partition table.
  public var partition: Int32
  /// The assignment; what belongs to an earlier one is reported but completes nothing.
  public var epoch: UInt32
  public var offset: Int64

  public init(partition: Int32, epoch: UInt32, offset: Int64) {
    self.partition = partition
    self.epoch = epoch
    self.offset = offset
  }
}

/// The facts about one push that decisions need, from being taken out of Kafka to its outcome. Its bytes are elsewhere.
public struct PushState: Sendable {
  /// The push's earlier failures.
  struct LastFailure: Sendable {
    /// The connection that failed it last, to be avoided, by its serial number; 0 for none.
    var connection: UInt64 = 0
    /// The address of that connection.
    var address: PeerAddress?
    /// Monotonic milliseconds of that.
    var at: UInt64 = 0
    /// When it first failed, in monotonic milliseconds; of use once it did.
    var since: UInt64 = 0
    /// A server's fault was its answer since it was taken.
    var hasMetFault = false
    /// The token (as its pool numbers them) with which it was refused at `address`, although another one may accept it;
    /// `.max` for none.
    var refusedToken = UInt32.max

    /// Its answer says whether the address was at fault.
    var findsOut: Bool { refusedToken != .max }
  }

  // Of thousands in flight, few are in a core's own caches. A push has four cache lines; glibc's large arrays begin 48 bytes
  // into one. So the first line has 16 bytes, the second what an end reads, and the third what a send reads
  // (`PushStatesTests` has the places).

  public private(set) var dedupKey = NotificationID(high: 0, low: 0)

  /// The place of the push, and the number of times that it was sent.
  public private(set) var life = PushLife()
  /// Time of day of the last send, in milliseconds.
  public private(set) var sentAt: Int64 = 0
  public private(set) var origin = Origin(partition: 0, epoch: 0, offset: 0)
  /// The connection that it is open on.
  public private(set) var connection = ConnectionID.none
  /// The destination that its slot counts for, as `Fairness` numbers them; −1 for none yet.
  private(set) var destination: Int32 = -1
  /// It is the one push of its device that is under way, where order is kept.
  private(set) var hasTurn = false
  /// It counts for its lane's pace when it leaves.
  private(set) var countsForLane = false
  /// It has waited for the pace of its app or group.
  private(set) var hasWaitedForPace = false
  /// Its device's pace has given it a time: `reservedAt`, in milliseconds since the epoch.
  private(set) var hasReservation = false
  /// It neither waits for its device's pace nor counts in it.
  private(set) var isFreeOfDevicePace = false
  private(set) var kind = GatewayKind.production
  private(set) var target = PushTarget.device
  /// `state` is of this push, or of an earlier one here: not `none`.
  private var hasState = false
  /// Hashes of the app's bundle id, of the device token and of the group; 0 for no group.
  public private(set) var app: UInt64 = 0

  private(set) var device: UInt64 = 0
  /// When its own expiration passes, and when it is older than its lane allows (milliseconds since the epoch).
  private(set) var expiresAt = Int64.max
  private(set) var agesAt = Int64.max
  private(set) var lastFailure = LastFailure()

  private(set) var pushType = PushType.alert
  private(set) var group: UInt64 = 0
  /// That of its campaign (`CampaignHolds.hash`); 0 for none.
  private(set) var campaign: UInt64 = 0
  /// By what a newer push supersedes it.
  public private(set) var state = StateFacts.none
  private(set) var created: Int64 = 0
  /// Monotonic milliseconds when it began to wait for a credential, as far as that is known.
  private(set) var waitingSince: UInt64 = 0
  public private(set) var reservedAt: Int64 = 0

  /// A hash of device token, app and environment.
  var tokenKey: UInt64 { Self.tokenKey(device, app: app, kind.environment) }

  static func tokenKey(_ device: UInt64, app: UInt64, _ environment: Environment) -> UInt64 {
    let origin = app ^ (environment == .sandbox ? 0x5851_F42D_4C95_7F2D : 0)
    return device ^ (origin &* 0x9E37_79B9_7F4A_7C15)
  }

  /// The ways in which it may be authenticated.
  var authentication: PushType.Authentication { pushType.authentication }

  /// True if the push is of no more use, at a time in milliseconds since the epoch.
  func isExpired(at wall: Int64) -> Bool { wall >= expiresAt || wall > agesAt }

  /// A push is here, of which nothing is known yet, and nothing of the one before it any more.
  mutating func begin(_ sendClass: SendClass, earlier: UInt16) {
    life.begin(sendClass, earlier: earlier)
    destination = -1
    connection = .none
    hasTurn = false
    countsForLane = false
    hasWaitedForPace = false
    hasReservation = false
    lastFailure.connection = 0
    lastFailure.hasMetFault = false
    lastFailure.refusedToken = .max
  }

  mutating func fill(
    _ facts: borrowing PushFacts, _ origin: Origin, maxAge: Int64, kind: GatewayKind
  ) {
    self.origin = origin
    dedupKey = facts.dedupKey
    app = facts.app
    device = facts.device
    group = facts.group
    campaign = facts.campaign
    self.kind = kind
    pushType = facts.pushType
    target = facts.target
    created = facts.created
    expiresAt = facts.expiresAt
    agesAt = facts.created + maxAge
    waitingSince = facts.waitedSince
    let isKeyed = facts.state.identity != 0
    if hasState || isKeyed { (state, hasState) = (facts.state, isKeyed) }
    isFreeOfDevicePace = facts.isFreeOfDevicePace
  }

  mutating func hold() { life.hold() }
  mutating func resume() { life.resume() }
  mutating func waits() { life.wait() }
  mutating func end() { life.end() }

  // MARK: Its state

  /// Its place among the pushes with its key: that of its record, unless it came back from a retry topic to its lane. Anyone
  /// may have written where that was.
  mutating func settlePosition() {
    let offset = origin.offset
    state.place = offset
    state.position = NewestStates.position(ofFirst: state.position, at: offset)
  }

  /// It is as new as this place of the log.
  mutating func settlePosition(at position: Int64) { state.position = position }

  /// Nothing supersedes it, nor it anything.
  mutating func dropState() { (state, hasState) = (.none, false) }

  /// True if it can be superseded: it has no stream, and is not the last state.
  var isReplaceable: Bool { !state.isFinal && (life.state == .waiting || life.state == .held) }

  /// Two pushes change places: each is from now on where the other one was, in lines and turns and among what is counted.
  static func exchange(_ one: inout PushState, _ other: inout PushState, now: UInt64) {
    swap(&one, &other)
    PushLife.exchangePlaces(&one.life, &other.life)
    swap(&one.state.place, &other.state.place)
    swap(&one.destination, &other.destination)
    swap(&one.hasTurn, &other.hasTurn)
    swap(&one.hasWaitedForPace, &other.hasWaitedForPace)
    swap(&one.hasReservation, &other.hasReservation)
    swap(&one.reservedAt, &other.reservedAt)
    // One that waits for a credential does so from now on.
    if other.waitingSince != 0 { one.waitingSince = now }
  }

  // MARK: What it takes up

  /// Its slot counts for this destination from now on; −1: for none.
  ///
  /// - Returns: the one that it counted for.
  mutating func count(for destination: Int32) -> Int32 {
    defer { self.destination = destination }
    return self.destination
  }

  /// It is the push of its device that is under way.
  mutating func beginTurn() { hasTurn = true }

  /// - Returns: whether it was the push of its device that is under way.
  mutating func endTurn() -> Bool {
    defer { hasTurn = false }
    return hasTurn
  }

  // MARK: Paces

  /// It was taken from a lane with a pace.
  mutating func count(forLane counts: Bool) { countsForLane = counts }

  /// It waits for a pace.
  mutating func awaitPace() {
    life.leaveLine()
    life.hold()
    hasWaitedForPace = true
  }

  /// Its device's pace gives it this time, in milliseconds since the epoch.
  mutating func reserve(_ wall: Int64) {
    hasReservation = true
    reservedAt = wall
    waitingSince = 0
  }

  /// The reason with which it is moved to a retry topic for so many milliseconds: one that comes back before the time
  /// that its device's pace has given it keeps that. Since when it waits for a credential stands in the same place.
  ///
  /// - Parameter wall: milliseconds since the epoch.
  func parkReason(_ reason: ParkReason, for delay: Int64, wall: Int64) -> ParkReason {
    guard hasReservation, life.attempts == 0, reason != .credential else { return reason }
    return reservedAt - wall >= delay ? .devicePace : reason
  }

  // MARK: Waiting for a credential

  /// It waits for one, from this time on unless it began to before.
  mutating func awaitCredential(now: UInt64) {
    life.hold()
    if waitingSince == 0 { waitingSince = now }
  }

  /// What its record says of its time on retry topics (`PushFacts.waitedSince`).
  mutating func takeUp(_ waitedSince: UInt64, _ turn: borrowing Turn) {
    let (now, wall) = (turn.now, turn.wall)
    let since = Int64(truncatingIfNeeded: waitedSince & ~PushFacts.reserved)
    if waitedSince & PushFacts.reserved != 0 { return reserve(since) }
    self.waitingSince = now - min(now, UInt64(max(0, wall - since)))
  }

  mutating func gotCredential() {
    life.resume()
    waitingSince = 0
  }

  // MARK: Streams

  mutating func opened(on connection: ConnectionID, wall: Int64) {
    life.send()
    self.connection = connection
    sentAt = wall
  }

  /// Its stream has ended.
  ///
  /// - Returns: the connection that it was open on.
  mutating func close(isUnprocessed: Bool) -> ConnectionID {
    life.close(isUnprocessed: isUnprocessed)
    return leaveConnection()
  }

  /// It could not be sent after all.
  mutating func takeBack() -> ConnectionID {
    life.takeBack()
    return leaveConnection()
  }

  private mutating func leaveConnection() -> ConnectionID {
    defer { connection = .none }
    return connection
  }

  mutating func timeOut() { life.timeOut() }

  /// A send of it failed.
  mutating func noteFailure(on connection: borrowing Connection, now: UInt64) {
    lastFailure.connection = connection.serial
    lastFailure.address = connection.address
    lastFailure.at = now
    if life.sends == 1 { lastFailure.since = now }
  }

  /// The send that failed was the destination's fault.
  mutating func spare() { life.spare() }

  /// A server's fault was its answer.
  mutating func noteFault() { lastFailure.hasMetFault = true }

  /// It was refused where it was, with this token of its pool.
  mutating func noteRefusal(token: UInt32) { lastFailure.refusedToken = token }

  /// It leaves its pool and the line there.
  mutating func leaveLine() {
    life.leaveLine()
    leavePool()
  }

  /// It goes to another pool: a refusal of its pool's token says nothing there.
  mutating func leavePool() { lastFailure.refusedToken = .max }

  /// It goes elsewhere now: no connection has to be avoided any more.
  mutating func moveOn() { lastFailure.connection = 0 }
}
