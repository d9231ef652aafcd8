// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

/// The shipped decisions of ingest, sender, signer and feedback in virtual time: two processes of each in their
/// consumer groups, the topics between them, and a gateway that keeps APNs' rules and misbehaves within them.
/// Everything follows from the seed.
///
/// What holds after every step, and in the end, is said in `docs/guarantees.md`.
public struct Simulation {
  private static let credentials = [["app.a", "app.b"], ["app.c"], ["*"]]
  /// The credential that serves any app, and that of an app if it is still there.
  static let lastCredential = 2
  static func credential(of app: UInt64) -> Int {
    credentials.firstIndex { $0.contains { AppHash.of($0.utf8.span) == app } } ?? lastCredential
  }
  static let apps = ["app.a", "app.b", "app.c", "app.other", "app.certificate"]
    .map { AppHash.of($0.utf8.span) }

  /// Shorter ages than a pipeline's, so that a run sees them pass.
  private static let lanes =
    (try? Lanes([
      .init("transactional", weight: 8, maxAge: 1_800_000, reserved: 20),
      .init("bulk", weight: 1, maxAge: 7_200_000),
    ])) ?? .standard

  var world: World
  var senders: [LoopModel] = []
  var ingest = [IngestModel(), IngestModel()]
  var signers: [SignerModel] = []
  var feedback = [FeedbackModel(), FeedbackModel()]
  /// None in most runs.
  var schedulers: [SchedulerModel] = []
  /// A scheduler's database as it was some time ago.
  var copiedSchedule: ScheduleDatabase?
  /// The partition whose topic was made again last.
  var lastRemade: Int?
  private var settings: DispatchSettings
  private var nextSeed: UInt64
  public let seed: UInt64
  /// Steps done.
  public private(set) var steps = 0

  public init(seed: UInt64) {
    self.seed = seed
    world = World(seed: seed, apps: Self.credentials, lanes: Self.lanes)
    var settings = DispatchSettings()
    settings.maxInFlight = world.chance.pick([60, 200, 600])
    settings.isOrdered = world.chance.oneIn(3)
    settings.dedupWindow = Int(KafkaModel.window)
    settings.partitionBounds = PartitionBounds(openAtMost: world.chance.pick([40, 200]))
    settings.connectionAge = 3_600_000
    settings.pool = .init(minimum: 1, maximum: world.chance.pick([2, 4]))
    settings.requestTimeout = world.chance.pick([3_000, 20_000])
    settings.connectTimeout = 5_000
    settings.lanes = Self.lanes
    self.settings = settings
    nextSeed = seed
    if world.theme == .tokens { self.settings.connectionAge = 2_400_000 }
    if world.chance.oneIn(4), world.theme == .everything, world.paces.paces == nil {
      world.sick = Self.anySickApp(&world.chance)
      world.mood.hasSlowAnswers = false
    }
    for _ in 0..<2 {
      senders.append(newSender())
      signers.append(newSigner())
    }
    addSchedulers()
  }

  /// What broke, or nil.
  public var problem: String? {
    world.kafka.problem.map {
      "step \(steps): \($0) (" + senders.map(\.summary).joined(separator: "; ") + ")"
    }
  }

  public var notifications: Int { world.kafka.notifications.count }
  public var delivered: Int { world.kafka.notifications.count { $0.has(.delivered) } }
  /// Records of requests, lanes and retry topics.
  public var records: Int {
    world.kafka.written + world.requests.partitions.reduce(0) { $0 + $1.count }
  }

  // MARK: Steps

  /// One turn of each process, at a later time.
  public mutating func step() {
    steps += 1
    world.now += elapsed()
    world.kafka.time = world.now - World.start
    if !world.isCalm { trouble() }
    let isUnavailable = world.mood.whole == .unavailable
    world.unavailableSince = isUnavailable ? world.unavailableSince ?? world.now : nil
    for kind in GroupModel.Kind.allCases {
      for process in processes(kind) where process.member.stalledUntil <= world.now {
        process.turn(&world)
      }
    }
    replaceStopped()
    for kind in GroupModel.Kind.allCases { world[kind].turn(processes(kind), now: world.now) }
    if steps % 200 == 0 { judgeWaits() }
  }

  /// Milliseconds until the next turn.
  private mutating func elapsed() -> UInt64 {
    if world.isCalm, world.chance.oneIn(8) { return UInt64(world.chance.below(4_000)) }
    let longest = world.sick == nil ? 20_000 : 500
    let pauses = world.theme == .tokens ? 20 : 200
    return UInt64(world.chance.oneIn(pauses) ? world.chance.below(longest) : world.chance.below(30))
  }

  /// Runs so many steps, then until everything has its outcome.
  ///
  /// - Returns: what broke, or nil.
  public mutating func run(steps count: Int) -> String? {
    while steps < count, world.kafka.problem == nil { step() }
    if let problem { return problem }
    calm()
    var patience = 60_000
    while patience > 0, world.kafka.problem == nil, !isSettled {
      step()
      patience -= 1
    }
    return problem ?? verdict
  }

  /// The same run again, which keeps its last events.
  ///
  /// - Returns: what happened before the first failure, oldest first.
  public static func trace(seed: UInt64, steps count: Int, last: Int) -> [String] {
    var simulation = Simulation(seed: seed)
    simulation.world.kafka.tracedEvents = last
    _ = simulation.run(steps: count)
    return simulation.world.kafka.trace.suffix(last)
  }

  /// Everything works from now on.
  private mutating func calm() {
    world.kafka.note("calm from now on")
    world.calmSince = world.now
    world.mood = GatewayMood()
    world.paces.clear(Self.lanes)
    (world.throttled, world.unregistered, world.tokens.withdrawn) = ([], [:], [])
    for signer in signers { signer.setClock(by: 0, until: 0) }
    for scheduler in schedulers { scheduler.setClock(by: 0, until: 0) }
    cancelWithoutEvidence()
  }

  // MARK: Processes

  mutating func newSender() -> LoopModel {
    nextSeed &+= 1
    return LoopModel(
      settings,
      [.init(apps: ["app.certificate"], scope: .any, expiresAt: World.epoch / 1_000 + 10_000_000)],
      patience: UInt64(world.chance.pick([0, 1_500, 3_000])), now: world.now, wall: world.wall,
      seed: nextSeed)
  }

  mutating func newSigner() -> SignerModel {
    SignerModel(keys: Self.credentials.count, skew: world.chance.within(-5_000...5_000))
  }

  func processes(_ kind: GroupModel.Kind) -> [any GroupProcess] {
    switch kind {
    case .signer: signers
    case .ingest: ingest
    case .sender: senders
    case .feedback: feedback
    case .scheduler: schedulers
    }
  }

  /// A process is gone, and another one takes its place.
  mutating func replace(_ kind: GroupModel.Kind, _ index: Int) {
    processes(kind)[index].crash(&world)
    switch kind {
    case .signer: signers[index] = newSigner()
    case .ingest: ingest[index] = IngestModel()
    case .sender: senders[index] = newSender()
    case .feedback: feedback[index] = FeedbackModel()
    case .scheduler: schedulers[index] = newScheduler(index)
    }
  }

  /// Processes that were told to stop and have left start again.
  private mutating func replaceStopped() {
    for kind in GroupModel.Kind.allCases {
      for (index, process) in processes(kind).enumerated() where process.member.hasLeft {
        replace(kind, index)
      }
    }
    replaceFailedSchedulers()
  }
}
