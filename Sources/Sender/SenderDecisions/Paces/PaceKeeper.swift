// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// Keeps the paces in one loop. Loops and senders do not talk about it: each keeps the part of a pace that its partitions
/// are of all partitions, so that the parts of all add up to the pace at any time, whoever joins or dies.
///
/// * **A lane's pace** is kept by the part of the lane's own partitions. Not more is taken from Kafka than may go. A push
///   counts when it leaves the lane: when it is sent for the first time, or moved to a retry topic.
/// * **A device's** is kept by whoever owns the lane's partition that the device is in (`DevicePaces`).
/// * **An app's or a group's** is kept by the part of all partitions, those of retry topics included, for its pushes may
///   come from any. A push counts when it is sent for the first time in all its lives; a retry of it does not.
struct PaceKeeper: Sendable {
  /// A lane's pace.
  private struct LanePace: Sendable {
    let whole: Double
    var bucket: PaceBucket
    /// Pushes that were taken and count for it when they leave.
    var taken = 0
  }

  /// The way of a push whose turn it is.
  enum Decision: Equatable {
    case goes
    /// It waits in its slot.
    case waits
    case aside(RetryTier, ParkReason)
    /// From its retry topic to its lane: when its device got its last pushes is known to the owner of that partition.
    case returns
  }

  /// Any pace is set: asked for each push.
  private(set) var isInForce = false
  /// An app or a group has one.
  private var hasLines = false
  private var ofLanes: [LanePace?]
  private var lines: [PaceLine] = []
  /// Their names, for status pages.
  private var names: [UInt64: String] = [:]
  /// Indices of lines plus one, by hash; 0 is an empty place.
  private var places: [UInt32] = []
  /// Lines in which pushes wait.
  private var busy: [Int] = []
  /// Those of devices.
  private(set) var devices = DevicePaces()
  /// Pushes that wait in slots, and how many may.
  private(set) var waiting = 0
  private var ready = SlotQueue()
  private let waitingAtMost: Int
  /// Nothing in it: the loop owns all that there is.
  private var totals = PartitionTotals()
  private var owned: PartitionTotals

  /// - Parameter slots: of the loop.
  init(slots: Int, lanes: Int) {
    waitingAtMost = slots / 8
    owned = PartitionTotals(ofLanes: Array(repeating: 0, count: lanes))
    ofLanes = Array(repeating: nil, count: lanes)
  }

  // MARK: What is set, and the loop's part of it

  /// These are the paces now. Buckets of those that stay as they were keep what is in them.
  ///
  /// - Returns: the pushes that waited, to be looked at again.
  mutating func update(_ paces: Paces, now: UInt64) -> [UInt32] {
    let (oldLanes, oldLines) = (ofLanes, lines)
    let oldPlaces = places
    let slots = drain()
    for place in ofLanes.indices {
      ofLanes[place] = paces.ofLanes[place].map {
        LanePace(
          whole: $0.perMillisecond, bucket: PaceBucket(now: now),
          taken: oldLanes[place]?.taken ?? 0)
      }
      guard let new = ofLanes[place] else { continue }
      if let old = oldLanes[place], old.whole == new.whole {
        ofLanes[place]!.bucket = old.bucket
      } else {
        share(lane: place, now: now)
      }
    }
    names = paces.names
    lines = []
    for (hash, rate) in paces.ofSubjects {
      let old = Self.find(hash, oldPlaces, oldLines)
      if old >= 0, oldLines[old].whole == rate.perMillisecond {
        lines.append(oldLines[old])
        lines[lines.count - 1].waiting = SlotQueue()
      } else {
        lines.append(PaceLine(hash, rate, now: now))
        share(line: lines.count - 1, now: now)
      }
    }
    index()
    hasLines = !lines.isEmpty
    devices.update(paces.ofDevices, now: now)
    isInForce = hasLines || !devices.isEmpty || ofLanes.contains { $0 != nil }
    return slots
  }

  private mutating func index() {
    var size = 16
    while size < lines.count * 4 { size *= 2 }
    places = Array(repeating: 0, count: lines.isEmpty ? 0 : size)
    for line in lines.indices {
      var place = Self.place(lines[line].hash) & (size - 1)
      while places[place] != 0 { place = (place + 1) & (size - 1) }
      places[place] = UInt32(line + 1)
    }
  }

  /// A partition is the loop's now.
  mutating func granted(_ topicKind: TopicKind, now: UInt64) {
    if case .lane(let lane) = topicKind {
      owned.ofLanes[Int(lane.place)] += 1
    } else {
      owned.ofRetries += 1
    }
    shareAll(now: now)
  }

  /// All partitions were given back.
  mutating func removePartitions(now: UInt64) {
    owned = PartitionTotals(ofLanes: Array(repeating: 0, count: ofLanes.count))
    shareAll(now: now)
  }

  /// All loops together have so many partitions now.
  mutating func update(_ totals: PartitionTotals, now: UInt64) {
    self.totals = totals
    shareAll(now: now)
  }

  private mutating func shareAll(now: UInt64) {
    guard isInForce else { return }
    for place in ofLanes.indices where ofLanes[place] != nil { share(lane: place, now: now) }
    for line in lines.indices { share(line: line, now: now) }
  }

  private mutating func share(lane place: Int, now: UInt64) {
    let total = place < totals.ofLanes.count ? totals.ofLanes[place] : 0
    let part = Self.part(owned.ofLanes[place], of: total)
    ofLanes[place]!.bucket.set(ofLanes[place]!.whole * part, now: now)
  }

  private mutating func share(line: Int, now: UInt64) {
    let part = Self.part(owned.all, of: totals.all)
    lines[line].bucket.set(lines[line].whole * part, now: now)
  }

  /// An assignment may name partitions that were not counted yet.
  private static func part(_ owned: Int, of total: Int) -> Double {
    owned == 0 ? 0 : Double(owned) / Double(max(owned, total))
  }

  // MARK: Lanes

  /// A turn's intake begins.
  mutating func fill(now: UInt64) {
    for place in ofLanes.indices { ofLanes[place]?.bucket.fill(now: now) }
  }

  /// The number of records of a lane that may be taken; nil if it has no pace.
  func room(of lane: Lane) -> Int? {
    guard let pace = ofLanes[Int(lane.place)] else { return nil }
    return max(0, pace.bucket.room - pace.taken)
  }

  /// A push of a lane was taken.
  ///
  /// - Returns: whether it counts for the lane's pace; then `left` follows.
  mutating func took(_ lane: Lane) -> Bool {
    guard ofLanes[Int(lane.place)] != nil else { return false }
    ofLanes[Int(lane.place)]!.taken += 1
    return true
  }

  /// A push that counts for a lane has left it.
  ///
  /// - Parameter counts: false for one that ended unsent, or is left to another owner.
  mutating func left(_ lane: Lane, counts: Bool) {
    guard ofLanes[Int(lane.place)] != nil else { return }
    ofLanes[Int(lane.place)]!.taken -= 1
    if counts { ofLanes[Int(lane.place)]!.bucket.take() }
  }

  /// A push that counted never reached APNs.
  ///
  /// - Returns: whether it counts for the lane's pace again.
  mutating func cameBack(_ lane: Lane) -> Bool {
    ofLanes[Int(lane.place)]?.bucket.giveBack()
    return took(lane)
  }

  // MARK: Apps and groups

  /// Decides about a push that is to be sent for the first time; one that goes counts.
  ///
  /// - Parameters:
  ///   - app: its hash, as `Paces.hash(app:_:)` makes it.
  ///   - group: the same, or 0.
  ///   - hasWaited: it goes before those that have not.
  mutating func decide(
    _ slot: UInt32, app: UInt64, group: UInt64, hasWaited: Bool, now: UInt64
  ) -> Decision {
    guard hasLines else { return .goes }
    let first = Self.find(app, places, lines)
    let second = group == 0 ? -1 : Self.find(group, places, lines)
    if first >= 0, !isAdmitted(first, hasWaited: hasWaited, now: now) {
      return holdBack(slot, first, isFirst: hasWaited, now: now)
    }
    if second >= 0, !isAdmitted(second, hasWaited: hasWaited, now: now) {
      return holdBack(slot, second, isFirst: hasWaited, now: now)
    }
    if first >= 0 { lines[first].bucket.take() }
    if second >= 0 { lines[second].bucket.take() }
    return .goes
  }

  private mutating func isAdmitted(_ line: Int, hasWaited: Bool, now: UInt64) -> Bool {
    lines[line].bucket.fill(now: now)
    return lines[line].bucket.room > 0 && (hasWaited || lines[line].waiting.isEmpty)
  }

  private mutating func holdBack(
    _ slot: UInt32, _ line: Int, isFirst: Bool, now: UInt64
  ) -> Decision {
    guard isFirst || (lines[line].hasRoom && waiting < waitingAtMost) else {
      return .aside(lines[line].tier(now: now), .pace)
    }
    if lines[line].waiting.isEmpty { busy.append(line) }
    if isFirst { lines[line].waiting.prepend(slot) } else { lines[line].waiting.append(slot) }
    waiting += 1
    return .waits
  }

  /// A push that counted has not gone after all.
  mutating func giveBack(app: UInt64, group: UInt64) {
    giveBack(Self.find(app, places, lines))
    if group != 0 { giveBack(Self.find(group, places, lines)) }
  }

  private mutating func giveBack(_ line: Int) {
    if line >= 0 { lines[line].bucket.giveBack() }
  }

  /// Finds the pushes for which there is room now; `nextReady` hands them out. They count when they are sent: if their
  /// destination takes nothing now, they have used up nothing.
  mutating func release(now: UInt64) {
    busy.removeAll { line in
      lines[line].bucket.fill(now: now)
      for _ in 0..<max(0, lines[line].bucket.room) {
        guard let slot = lines[line].waiting.popFirst() else { return true }
        ready.append(slot)
        waiting -= 1
      }
      return lines[line].waiting.isEmpty
    }
  }

  /// The next push that may go, to be routed again.
  mutating func nextReady() -> UInt32? { ready.popFirst() }

  /// Takes all out that wait.
  mutating func drain() -> [UInt32] {
    var slots: [UInt32] = []
    while let slot = ready.popFirst() { slots.append(slot) }
    for line in busy {
      while let slot = lines[line].waiting.popFirst() { slots.append(slot) }
    }
    busy.removeAll()
    waiting = 0
    return slots
  }

  // MARK: Time

  /// When a push may go that none may now, in monotonic milliseconds; nil if nothing waits for a pace.
  var nextDue: UInt64? {
    var due = UInt64.max
    for case .some(let pace) in ofLanes {
      if let time = pace.bucket.time(of: pace.taken + 1) { due = min(due, time) }
    }
    for line in busy { if let time = lines[line].bucket.time(of: 1) { due = min(due, time) } }
    return due == .max ? nil : due
  }

  // MARK: The table

  private static func place(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 33)
  }

  /// The line of a hash, or −1.
  private static func find(_ hash: UInt64, _ places: [UInt32], _ lines: [PaceLine]) -> Int {
    guard !places.isEmpty else { return -1 }
    let mask = places.count - 1
    var place = place(hash) & mask
    while places[place] != 0 {
      let line = Int(places[place]) - 1
      if lines[line].hash == hash { return line }
      place = (place + 1) & mask
    }
    return -1
  }
}

extension PushState {
  /// The hash of its device among those with a pace.
  fileprivate var pacedDevice: UInt64 {
    device ^ Paces.hash(app: app, kind.environment, pushType)
  }

  /// The hash of the line of its app, and that of its group's, 0 without a group.
  fileprivate var paceLines: (app: UInt64, group: UInt64) {
    (
      Paces.hash(app: app, kind.environment),
      group == 0 ? 0 : Paces.hash(app: app, kind.environment, group: group)
    )
  }
}

extension PaceKeeper {
  /// The pace of a push's device; nil without one.
  private func rateOfDevice(_ push: borrowing PushState) -> PaceRate? {
    guard !devices.isEmpty, push.target.isDevice, !push.isFreeOfDevicePace else { return nil }
    return devices.rate(of: Paces.hash(app: push.app, push.kind.environment, push.pushType))
  }

  /// Decides about a push. One that is sent for the first time counts if it goes; the others go.
  ///
  /// - Parameters:
  ///   - isRetry: it comes from a retry topic.
  ///   - wall: milliseconds since the epoch.
  mutating func decide(
    _ slot: UInt32, _ push: inout PushState, isRetry: Bool, now: UInt64, wall: Int64
  ) -> Decision {
    guard push.life.attempts == 0 else { return .goes }
    let rate = rateOfDevice(push)
    if let rate, push.hasReservation {
      let wait = push.reservedAt - wall
      if wait > 0 { return .aside(DevicePaces.tier(wait, rate), .devicePace) }
    } else if rate != nil, isRetry {
      return .returns
    }
    let lines = push.paceLines
    let decision = decide(
      slot, app: lines.app, group: lines.group, hasWaited: push.hasWaitedForPace, now: now)
    switch decision {
    case .goes:
      guard let rate, !push.hasReservation else { return .goes }
      return reserve(&push, rate, now: now, wall: wall)
    // What its device's pace gave it, it keeps.
    case .aside(let tier, _) where push.hasReservation: return .aside(tier, .devicePace)
    default: return decision
    }
  }

  /// Gives a push the time when its device may have it. One with a key gets none that is to come, for a newer one may take
  /// its place, nor one that will have expired: others go then.
  private mutating func reserve(
    _ push: inout PushState, _ rate: PaceRate, now: UInt64, wall: Int64
  ) -> Decision {
    let wait = devices.wait(push.pacedDevice, rate, now: now)
    let at = wall + Int64(wait)
    let isKeyed = push.state.hasIdentity && !push.state.isOfPile
    let isTaken = wait == 0 || !(isKeyed || push.isExpired(at: at))
    if isTaken {
      devices.note(push.pacedDevice, after: wait, now: now)
      push.reserve(at)
    }
    guard wait > 0 else { return .goes }
    giveBack(push)
    return .aside(DevicePaces.tier(Int64(wait), rate), isTaken ? .devicePace : .pace)
  }

  /// A push that counted has not gone after all.
  mutating func giveBack(_ push: borrowing PushState) {
    let lines = push.paceLines
    giveBack(app: lines.app, group: lines.group)
  }

  var standings: [PaceSnapshot] {
    let lanes = ofLanes.indices.compactMap { place in
      ofLanes[place].map {
        PaceSnapshot(
          name: "", lane: Lane(place: UInt8(place)), perSecond: $0.bucket.rate * 1_000, waiting: 0)
      }
    }
    return lanes
      + lines.map {
        PaceSnapshot(
          name: names[$0.hash] ?? "", lane: nil, perSecond: $0.bucket.rate * 1_000,
          waiting: $0.waiting.count)
      }
  }
}
