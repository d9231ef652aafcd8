// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

/// One process of the sender with one loop: the shipped `Dispatcher`, the shipped `GroupMachine` and `Assignments` of the
/// control thread, and an owner that does what they want done in the models of Kafka and of APNs. A crash is a new
/// one.
final class LoopModel: GroupProcess {
  /// A push as the owner holds it.
  struct TakenPush {
    var facts: PushFacts
    var notification: Int
    var place: Int
    var log: Int
    /// When it was taken, or became due.
    var since: UInt64
    var wasSent = false
    /// It is older than what its sender knows of its partition.
    var isUnknown = false
  }

  struct Connected {
    var model: ConnectionModel
    var token: ProviderTokenStamp?
    var open: Set<UInt32> = []
    /// When it first refused a push.
    var refusedAt: UInt64?
    /// A PING went unanswered.
    var isSilent = false
    /// Streams that the gateway has said to allow.
    var limit = 1
  }

  /// A record on its way to Kafka.
  struct Outgoing {
    enum What {
      case receipt(Outcome)
      case feedback(DeviceOfApp, TokenAnswer)
      case retry(RetryTier, PushFacts)
      /// A retry that is due goes back to its lane.
      case lane(PushFacts)
    }
    var what: What
    var notification: Int
    var origin: Origin
    var place: Int
    var log: Int
    /// When Kafka has it, and when the acknowledgement is here.
    var storedAt: UInt64
    var acknowledgedAt: UInt64
    var isStored = false
  }

  /// A partition of this assignment.
  struct AssignedPartition {
    var partition: Int
    /// The next offset to read.
    var next: Int64
    /// Which log its offsets are of, as far as the reader knows.
    var log: Int
    /// Records of the log below it are passed over: they are taken for those of the log before.
    var overlookedBelow: Int64 = 0
    /// A new owner reads ids and states again from here on.
    var readBackTo: Int64 = 0
    /// It has looked for newer states up to here; those above it are known when they are read (docs/dispatch.md).
    var lookedAheadTo: Int64 = 0
    /// What the owner before sent from here on is not known.
    var statesEnd: Int64 { max(next, lookedAheadTo) }
  }

  /// Counts the processes of a run, for its trace.
  let number: UInt64
  var dispatcher: Dispatcher
  let isOrdered: Bool
  let settings: DispatchSettings
  var taken: [UInt32: TakenPush] = [:]
  var connections: [ConnectionID: Connected] = [:]
  var lookUps: [(at: UInt64, pool: Int32)] = []
  var outgoing: [Outgoing] = []
  var unsent: [UInt32] = []
  var closing: [ConnectionID] = []
  var abandoned: [ConnectionID] = []
  /// Streams that were given up; they end with the turn.
  var cancelled: [(slot: UInt32, connection: ConnectionID)] = []
  /// Partitions, by the dispatcher's number, that began without knowing what was sent before.
  var withoutWindow: Set<Int> = []
  /// By the dispatcher's number.
  var places: [AssignedPartition] = []
  /// Turns since a record of a recreated topic was passed over as one of the topic before, by partition, until the
  /// dispatcher says that something is wrong with the log.
  var passedOver: [Int: Int] = [:]
  var tokensRead = 0
  /// News of devices that were read, and what they say: what was requested before is not sent, `.max` while nothing is.
  var marksRead = 0
  var released: [DeviceOfApp: Int64] = [:]
  var tokensAppliedAt: UInt64 = 0
  /// What the last push that ended became.
  var lastPut: Outgoing.What?
  /// When a push of an app was last accepted; forgotten when credentials change.
  var acceptedAt: [UInt64: UInt64] = [:]
  /// When pushes were sent to a gateway that is unavailable, by pool.
  var sends: [Int32: [UInt64]] = [:]
  /// When connects began since a push was last accepted or a token came, by pool.
  var connects: [Int32: [(at: UInt64, address: Int)]] = [:]
  /// The newest offset of each device that was sent, by partition, in this assignment.
  var lastSent: [Int: [UInt64: Int64]] = [:]

  /// The paces and partitions that its dispatcher knows of.
  var toldPaces: Paces?
  var toldTotals = PartitionTotals()
  /// The campaigns whose pushes it does not send.
  var toldHolds = CampaignHolds()

  // The control thread.
  /// Two loops would share the partitions: this one stands for both.
  var assignments: Assignments<Int>
  var member: MemberModel
  /// The assignment under which its partitions are read.
  var epoch: UInt32 = 0
  /// What the loop has given back, until the group has it.
  var handed: [HandedOverPartition]?
  /// The windows that are read again, and what of them comes when.
  var reading: WindowReading<Int>?
  var stretches: [(stretch: RebuildPlan<Int>.Stretch, readyAt: UInt64)] = []
  /// Partitions whose offsets went back, and from where, and those whose log was found to be another one.
  var doubted: [Int: Int64] = [:]
  var remade: Set<Int> = []

  init(
    _ settings: DispatchSettings, _ certificates: [CertificateBook.Entry], patience: UInt64,
    now: UInt64, wall: Int64, seed: UInt64
  ) {
    member = MemberModel(.sender, patience: patience)
    self.settings = settings
    number = seed & 0xFFFF
    isOrdered = settings.isOrdered
    assignments = Assignments(loops: 2, window: settings.dedupWindow, rebuildMilliseconds: 5_000)
    dispatcher = Dispatcher(settings, certificates: certificates, now: now, wall: wall, seed: seed)
  }

  // MARK: Turns

  /// One turn of the loop, and of the control thread.
  func turn(_ world: inout World) {
    dispatcher.beginTurn(now: world.now, wall: world.wall)
    followPaces(&world)
    followHolds(&world)
    readTokens(&world)
    readDevices(&world)
    dispatcher.applyTokens()
    perform(&world)
    answerLookUps(&world)
    hear(&world)
    acknowledge(&world)
    dispatcher.expireDeadlines()
    perform(&world)
    dispatcher.signalledAll()
    readRecords(&world)
    dispatcher.dispatch()
    perform(&world)
    _ = dispatcher.upkeep()
    perform(&world)
    endConnections(&world)
    control(&world)
    check(&world)
  }

  private func readTokens(_ world: inout World) {
    guard tokensRead < world.tokens.updates.count, world.chance.oneIn(20) else { return }
    let updates = Array(world.tokens.updates[tokensRead...])
    tokensRead = world.tokens.updates.count
    (connects, acceptedAt, tokensAppliedAt) = ([:], [:], world.now)
    dispatcher.updateTokens(updates, isComplete: true)
  }

  /// What its control thread hands on of the marks.
  private func readDevices(_ world: inout World) {
    guard marksRead < world.devices.marks.count, world.chance.oneIn(5) else { return }
    var news: [DeviceNews] = []
    for record in world.devices.marks[marksRead...] {
      guard record.release != nil || record.mark == nil else { continue }
      var said = ReleasedDevices.News.usable(from: world.wall)
      if let release = record.release {
        said = .released(release, isGone: record.mark != nil)
        released[record.key] = record.mark != nil ? .max : max(release.at, knownRelease(record.key))
      } else if released[record.key] == .max {
        released[record.key] = world.wall
      }
      news.append(DeviceNews(record.key.device, app: record.key.app, .production, said))
    }
    marksRead = world.devices.marks.count
    dispatcher.update(.devices(news))
  }

  private func knownRelease(_ key: DeviceOfApp) -> Int64 {
    let known = released[key] ?? .min
    return known == .max ? .min : known
  }

  private func answerLookUps(_ world: inout World) {
    while let first = lookUps.first, first.at <= world.now {
      lookUps.removeFirst()
      let fails = !world.isCalm && world.chance.oneIn(100)
      dispatcher.lookedUp(first.pool, fails ? nil : world.addresses)
      perform(&world)
    }
  }

  // MARK: Records

  private func readRecords(_ world: inout World) {
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: outgoing.count < 5_000) {
      perform(&world)
      var taken = 0
      while taken < take.count, accept(take.partition, &world) { taken += 1 }
      dispatcher.took(taken)
    }
    perform(&world)
  }

  private func accept(_ number: Int, _ world: inout World) -> Bool {
    let place = places[number]
    guard let (offset, record) = world.kafka.read(place.partition, at: place.next) else {
      return false
    }
    places[number].next = offset + 1
    // It stood still, the group has gone on without it, and it has not heard so yet.
    if member.isFenced { world.kafka.notifications[record.notification].excusable += 1 }
    let log = world.kafka[place.partition].log
    switch dispatcher.admit(offset, from: number) {
    case .new: break
    case .alreadyCompleted:
      if log != place.log { passedOver[place.partition] = passedOver[place.partition] ?? 0 }
      dispatcher.remember(record.facts.dedupKey, record.facts.state, at: offset, from: number)
      return true
    case .alreadyReceived:
      if log != place.log {
        passedOver[place.partition] = passedOver[place.partition] ?? 0
      } else if offset >= place.overlookedBelow {
        world.kafka.fail("a record that is new to this assignment is called open")
      }
      return true
    }
    if withoutWindow.contains(number), record.facts.state.position < 0 {
      world.kafka.notifications[record.notification].takenAsNewAt = offset
    }
    let unknown = dispatcher.counts[.returnedUnknown]
    let slot = dispatcher.accept(
      record.facts, offset: offset, from: number, written: record.written)
    if taken[slot] != nil { world.kafka.fail("a slot was given twice") }
    taken[slot] = TakenPush(
      facts: record.facts, notification: record.notification, place: place.partition, log: log,
      since: world.now, isUnknown: dispatcher.counts[.returnedUnknown] > unknown)
    perform(&world)
    return true
  }

  /// Whether a push is the head of a retry topic whose time has not come.
  func isNotDue(_ slot: UInt32) -> Bool {
    guard dispatcher.push(slot).life.state == .held, let push = taken[slot] else { return false }
    return push.wasSent == false && dispatcher.push(slot).life.sendClass == .retry
  }

  // MARK: What must hold after every step

  private func check(_ world: inout World) {
    if dispatcher.pushCount != taken.count { world.kafka.fail("slots are miscounted") }
    if dispatcher.pushCount > settings.maxInFlight {
      world.kafka.fail("\(dispatcher.pushCount) pushes are taken")
    }
    if let slot = taken.keys.max(), Int(slot) >= PushStates.slots(for: settings.maxInFlight) {
      world.kafka.fail("memory grows: slot \(slot) is in use")
    }
    if dispatcher.unacknowledged != outgoing.count {
      world.kafka.fail("what Kafka has not acknowledged is miscounted")
    }
    if dispatcher.unacknowledged > settings.unacknowledgedAtMost + settings.maxInFlight {
      world.kafka.fail("\(dispatcher.unacknowledged) outcomes wait for Kafka")
    }
    for (id, connected) in connections
    where dispatcher.connection(id).machine.openStreams != connected.open.count {
      world.kafka.fail("streams are miscounted")
    }
    for partition in passedOver.keys.sorted() where !remade.contains(partition) {
      passedOver[partition]! += 1
      if passedOver[partition]! > 100 {
        world.kafka.fail(
          "partition \(partition) was made again, its records are passed over, and nobody notices")
      }
    }
    for place in places.indices {
      let open = dispatcher.standing(of: place).open
      if open > settings.partitionBounds.openAtMost {
        world.kafka.fail("\(open) records of a partition are open")
      }
    }
  }

  /// How many pushes are in each state, for a report.
  private var states: [String] {
    let all = taken.keys.map { "\(dispatcher.push($0).life.state)" }
    return Dictionary(grouping: all) { $0 }.map { "\($0) \($1.count)" }.sorted()
  }

  /// How it is, for a report.
  var summary: String {
    let connected = connections.keys.sorted().map { id in
      let machine = dispatcher.connection(id).machine
      return "\(id.pool): \(machine.state) \(machine.openStreams)"
    }
    let waiting = dispatcher.poolNumbers.compactMap { dispatcher.standing(ofPool: $0) }.map {
      "\($0.inLine)+\($0.heldForApp)+\($0.heldForConnection)"
    }
    return
      "holds \(taken.count) \(states), in line, held for apps, held for connections [\(waiting.joined(separator: ", "))], on the way to Kafka \(outgoing.count), connections [\(connected.joined(separator: ", "))]"
  }
}
