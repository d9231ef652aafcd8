// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// The paces of a run, and what was sent of each lately: none is faster, whoever sends, comes and goes.
struct PaceModel {
  /// The stretch of time that is judged, in milliseconds.
  private static let stretch: UInt64 = 10_000

  /// Set from the start, cleared when everything works; nil in runs without any.
  private(set) var paces: Paces?
  private var sends: [PaceSubject: [UInt64]] = [:]
  private let app: (hash: UInt64, rate: PaceRate)
  private let bulk: PaceRate

  /// - Parameter lanes: that there are.
  init(seed: UInt64, lanes: Lanes) {
    app = (AppHash.of("app.c".utf8.span), PaceRate(3, per: .second)!)
    bulk = PaceRate(8, per: .second)!
    guard [2, 3].contains(seed % 8) else { return }
    var paces = Paces(lanes)
    for (subject, rate) in [
      (.app("app.c", .production), app.rate), (.lane("bulk"), bulk),
      (.device("app.other", .production, .alert), PaceRate(1, per: .minute)!),
    ] as [(PaceSubject, PaceRate)] {
      try? paces.set(subject, rate)
    }
    self.paces = paces
  }

  /// There is none any more.
  mutating func clear(_ lanes: Lanes) { if paces != nil { paces = Paces(lanes) } }

  /// A push goes out for the first time in this life of it.
  ///
  /// - Parameters:
  ///   - isOfLane: it comes from its lane.
  ///   - loops: of all senders.
  /// - Returns: what is too fast, or nil.
  mutating func sent(_ facts: PushFacts, isOfLane: Bool, loops: Int, now: UInt64) -> String? {
    guard paces?.count ?? 0 > 0 else { return nil }
    var problem: String?
    if facts.app == app.hash { problem = note(.app("app.c", .production), app.rate, loops, now) }
    if isOfLane, facts.lane == .bulk { problem = note(.lane("bulk"), bulk, loops, now) ?? problem }
    return problem
  }

  /// A bucket holds one push and 60 ms of its rate.
  private mutating func note(
    _ subject: PaceSubject, _ rate: PaceRate, _ loops: Int, _ now: UInt64
  ) -> String? {
    sends[subject, default: []].append(now)
    sends[subject]!.removeAll { $0 + Self.stretch <= now }
    let most = rate.perMillisecond * Double(Self.stretch + 60) + Double(loops) + 1
    let count = sends[subject]!.count
    return Double(count) > most
      ? "\(count) pushes of \(subject) in 10 s, whose pace is \(rate)" : nil
  }
}

extension LoopModel {
  /// Learns which campaigns are over.
  func followHolds(_ world: inout World) {
    guard world.schedule.holds != toldHolds else { return }
    toldHolds = world.schedule.holds
    var pauses = Pauses(settings.lanes)
    pauses.campaigns = toldHolds
    dispatcher.update(.pauses(pauses))
    perform(&world)
  }

  /// A push goes out: its campaign is not over, as far as the loop knows.
  func judgeHold(_ push: TakenPush, _ world: inout World) {
    if push.facts.campaign != 0, toldHolds[push.facts.campaign] != nil {
      world.kafka.fail("a push of a campaign that is over is sent")
    }
  }

  /// Learns which paces are set, and how many partitions there are.
  func followPaces(_ world: inout World) {
    guard let paces = world.paces.paces else { return }
    if paces != toldPaces {
      toldPaces = paces
      dispatcher.update(.paces(paces))
      perform(&world)
    }
    let topicKinds = world.kafka.partitions.map(\.topicKind)
    let totals = PartitionTotals(
      ofLanes: settings.lanes.all.map { lane in topicKinds.count { $0 == .lane(lane) } },
      ofRetries: topicKinds.count { !$0.isLane })
    if totals != toldTotals {
      toldTotals = totals
      dispatcher.update(.partitions(totals))
    }
  }

  /// A push goes out. Who stood still while the group went on without it does not know that others have its part.
  func judgePace(_ slot: UInt32, _ push: TakenPush, _ world: inout World) {
    guard !push.wasSent, push.facts.attempt == 0, !member.isFenced else { return }
    let isOfLane = dispatcher.push(slot).life.sendClass != .retry
    if let problem = world.paces.sent(push.facts, isOfLane: isOfLane, loops: 2, now: world.now) {
      world.kafka.fail(problem)
    }
  }
}
