// SPDX-License-Identifier: Apache-2.0

internal import ConsumerGroup
internal import Contract

/// The pushes of one loop in slots that are reused. The slot index is the push's name everywhere.
public struct PushStates: Sendable {
  private static let slotsInChunk = 256

  private var states: [PushState] = []
  private var free: [UInt32] = []
  /// Pushes in the table now.
  public private(set) var count = 0
  /// The same by the class's place.
  private(set) var byClass = ByClass(repeating: 0)
  /// Those with a key, by which newer ones supersede them; so that pushes pay for them only where there are any.
  private(set) var keyed = 0
  /// Those of them without a stream, by the class's place: what waits may be superseded, so it does not keep more from
  /// being read.
  private(set) var waitingKeyed = ByClass(repeating: 0)
  /// When the open ones have waited too long for their answers.
  private var deadlines: RequestDeadlines

  /// - Parameters:
  ///   - most: pushes that are in the table at once at most.
  ///   - timeout: how long an answer may take, in milliseconds.
  public init(most: Int = DispatchSettings().maxInFlight, timeout: UInt64 = 30_000) {
    deadlines = RequestDeadlines(capacity: Self.slots(for: most), timeout: timeout)
  }

  subscript(_ slot: UInt32) -> PushState {
    @inline(__always) get { states[Int(slot)] }
    @inline(__always) _modify { yield &states[Int(slot)] }
  }

  /// What a push's receipt says of it.
  func ending(_ slot: UInt32) -> PushEnding {
    PushEnding(
      origin: states[Int(slot)].origin, attempts: states[Int(slot)].life.attempts,
      app: states[Int(slot)].app)
  }

  /// Slot indices stay below this when at most `pushes` are in the table at once.
  public static func slots(for pushes: Int) -> Int {
    (pushes + slotsInChunk - 1) / slotsInChunk * slotsInChunk
  }

  /// Takes a free slot; what was there is to be replaced.
  mutating func take(_ sendClass: SendClass, earlier: UInt16) -> UInt32 {
    if free.isEmpty { grow() }
    count += 1
    byClass[Int(sendClass.place)] += 1
    let slot = free.removeLast()
    states[Int(slot)].begin(sendClass, earlier: earlier)
    return slot
  }

  /// Frees a slot for reuse: the push in it has its one end.
  mutating func put(_ slot: UInt32) {
    count -= 1
    byClass[Int(states[Int(slot)].life.sendClass.place)] -= 1
    states[Int(slot)].end()
    free.append(slot)
  }

  /// A push that was taken has a key, or a collapse id that may become one.
  mutating func beginKey(_ slot: UInt32) {
    keyed += 1
    countWaiting(slot, 1)
  }

  /// The key of a push without a stream is not looked at any more, nor the push.
  mutating func endKey(_ slot: UInt32) {
    keyed -= 1
    countWaiting(slot, -1)
  }

  private mutating func countWaiting(_ slot: UInt32, _ change: Int) {
    guard states[Int(slot)].state.hasIdentity else { return }
    waitingKeyed[Int(states[Int(slot)].life.sendClass.place)] += change
  }

  /// True if a push has a key, or a collapse id that may become one.
  @inline(__always)
  func hasState(_ slot: UInt32) -> Bool { keyed > 0 && states[Int(slot)].state.identity != 0 }

  /// True if a push has a key.
  @inline(__always)
  func hasKey(_ slot: UInt32) -> Bool { keyed > 0 && states[Int(slot)].state.hasIdentity }

  /// Two pushes change places.
  mutating func exchange(_ one: UInt32, _ other: UInt32, now: UInt64) {
    var first = states[Int(one)]
    PushState.exchange(&first, &states[Int(other)], now: now)
    states[Int(one)] = first
  }

  // MARK: Places

  /// The unsent push whose place a new one of its identity takes: of those that it supersedes the first in line behind which
  /// nothing stands that it does not supersede. Without one, what it supersedes ends when its turn comes.
  ///
  /// - Parameter others: the newest before it, by their urgency; `NewestStates.none` for none.
  func placeToTake(by slot: UInt32, of others: InlineArray<4, UInt32>) -> UInt32? {
    let state = self[slot].state
    var last: Int64 = -1
    for urgency in others.indices where others[urgency] != NewestStates.none {
      if !isReplaced(others[urgency], by: state) {
        last = max(last, self[others[urgency]].state.place)
      }
    }
    var first: UInt32?
    for urgency in others.indices where others[urgency] != NewestStates.none {
      let other = others[urgency]
      let place = self[other].state.place
      guard place > last, isReplaced(other, by: state) else { continue }
      if place < first.map({ self[$0].state.place }) ?? .max { first = other }
    }
    return first
  }

  private func isReplaced(_ slot: UInt32, by newer: StateFacts) -> Bool {
    newer.urgency.covers(self[slot].state.urgency) && self[slot].state.position <= newer.position
      && self[slot].isReplaceable
  }

  // MARK: Streams

  /// A push goes out on a connection.
  mutating func open(_ slot: UInt32, on connection: ConnectionID, now: UInt64, wall: Int64) {
    if hasKey(slot) { countWaiting(slot, -1) }
    states[Int(slot)].opened(on: connection, wall: wall)
    deadlines.insert(slot, now: now)
  }

  /// Its stream has ended.
  ///
  /// - Parameter isUnprocessed: it never reached APNs, and is neither a send nor an attempt.
  /// - Returns: the connection.
  mutating func close(_ slot: UInt32, isUnprocessed: Bool) -> ConnectionID {
    if hasKey(slot) { countWaiting(slot, 1) }
    deadlines.remove(slot)
    return states[Int(slot)].close(isUnprocessed: isUnprocessed)
  }

  /// It could not be sent after all.
  mutating func takeBack(_ slot: UInt32) -> ConnectionID {
    if hasKey(slot) { countWaiting(slot, 1) }
    deadlines.remove(slot)
    return states[Int(slot)].takeBack()
  }

  /// The next push whose answer has taken too long; nil when there is none.
  mutating func timeOut(now: UInt64) -> UInt32? {
    guard let slot = deadlines.expire(now: now) else { return nil }
    states[Int(slot)].timeOut()
    return slot
  }

  /// When the next one will have, in monotonic milliseconds; nil while nothing is open.
  var nextTimeOut: UInt64? { deadlines.next }
  /// The time that an answer may take, in milliseconds.
  var timeout: UInt64 { deadlines.timeout }

  /// The ids of an assignment's pushes that are in the table.
  func ids(of partitions: borrowing Partitions) -> [(partition: Int, id: NotificationID)] {
    states.indices.compactMap { index in
      guard states[index].life.state != .free, partitions.hasNow(states[index].origin) else {
        return nil
      }
      return (Int(states[index].origin.partition), states[index].dedupKey)
    }
  }

  /// The slot of each partition's oldest push, by its offset.
  func oldest(of partitions: borrowing Partitions) -> [UInt32?] {
    var oldest = [UInt32?](repeating: nil, count: partitions.indices.count)
    for index in states.indices where states[index].life.state != .free {
      guard let place = partitions.place(of: states[index].origin) else { continue }
      if let known = oldest[place],
        states[Int(known)].origin.offset <= states[index].origin.offset
      {
        continue
      }
      oldest[place] = UInt32(index)
    }
    return oldest
  }

  /// The pushes of these lanes count for their lanes' paces no longer.
  mutating func forgetLanes(where isForgotten: (Lane) -> Bool) {
    for index in states.indices {
      if let lane = states[index].life.sendClass.lane, isForgotten(lane) {
        states[index].count(forLane: false)
      }
    }
  }

  /// The number that were created at this time (milliseconds since the epoch) or earlier.
  func count(createdBy wall: Int64) -> Int {
    states.count { $0.life.state != .free && $0.created <= wall }
  }

  private mutating func grow() {
    let first = UInt32(states.count)
    states.append(contentsOf: repeatElement(PushState(), count: Self.slotsInChunk))
    // Highest first, so that the lowest slots are taken first and stay warm in the cache.
    for index in (0..<UInt32(Self.slotsInChunk)).reversed() { free.append(first + index) }
  }
}
