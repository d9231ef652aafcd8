// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import SenderDecisions

/// When a loop writes down how it stands: once a second while somebody watches, else every ten seconds.
struct StatusPace {
  private static let unwatched: UInt64 = 10_000
  private static let watched: UInt64 = 1_000

  private var nextLook: UInt64 = 0
  private var nextUnwatched: UInt64 = 0

  mutating func isDue(_ telemetry: LoopTelemetry, now: UInt64) -> Bool {
    guard now >= nextLook else { return false }
    nextLook = now + Self.watched
    guard now >= nextUnwatched || telemetry.isWatched(now: now) else { return false }
    nextUnwatched = now + Self.unwatched
    return true
  }
}

/// How a loop stands, as its parts know it. Looks at every push.
extension LoopStatus {
  init(
    _ dispatcher: inout Dispatcher, _ lanes: [String], _ gateways: GatewayPools,
    _ queues: borrowing PartitionQueues,
    _ outcomes: OutcomeWriter
  ) {
    at = dispatcher.now
    paces = dispatcher.paces.map { pace in
      Pace(
        name: pace.lane.map { "lane:\(lanes[Int($0.place)])" }
          ?? pace.name,
        perSecond: pace.perSecond, waiting: pace.waiting)
    }
    self.lanes = lanes
    former = gateways.former
    for number in dispatcher.poolNumbers {
      guard let pool = dispatcher.standing(ofPool: number) else { continue }
      destinations.append(Destination(gateways.pool(number), pool, now: at))
      connections += dispatcher.connections(ofPool: number).compactMap { state in
        gateways.connection(state.id).map { Connection($0, state, now: dispatcher.now) }
      }
    }
    let old = dispatcher.oldPushes(createdBy: dispatcher.wall - Self.slowMilliseconds)
    slow = old.count
    for number in dispatcher.partitions {
      var partition = Partition(dispatcher.standing(of: number), queues.name(number), lanes)
      if let slot = old.oldest[number] {
        partition.oldest = Record(outcomes[slot], dispatcher.push(slot), dispatcher.wall)
      }
      partitions.append(partition)
    }
  }
}

extension LoopStatus.Connection {
  fileprivate init(
    _ connection: GatewayConnection, _ state: SenderDecisions.Connection, now: UInt64
  ) {
    self.init(
      address: connection.address, credential: connection.pool.credential,
      environment: connection.pool.environment, state: state.machine.state,
      openStreams: state.machine.openStreams, limit: state.machine.limit,
      credit: state.machine.credit, age: now - state.startedAt)
  }
}

extension LoopStatus.Destination {
  fileprivate init(_ pool: GatewayPool, _ state: PoolSnapshot, now: UInt64) {
    pool.refusals.prune(state.health, now: now)
    // The breaker of an app that nobody sends to any more is no trouble.
    let trouble =
      state.trouble == .app && pool.refusals.all.isEmpty ? nil : state.trouble
    self.init(
      index: Int(pool.number), credential: pool.credential, environment: pool.environment,
      hasToken: state.isAuthorized, trouble: trouble,
      waiting: state.waiting, held: trouble == .app ? state.heldForApp : state.waiting,
      open: state.open,
      accepted: pool.accepted, refused: pool.refused, retriesLeft: state.health.retriesLeft,
      streamsOfOthers: state.streamsOfOthers,
      refusals: pool.refusals.all.map {
        LoopStatus.Refusal(app: $0.app, reason: $0.reason, age: now - $0.since)
      }, isNamed: pool.isNamed)
  }
}

extension LoopStatus.Partition {
  fileprivate init(_ standing: PartitionSnapshot, _ name: TopicPartition, _ lanes: [String]) {
    let lane =
      switch standing.topicKind {
      case .lane(let lane): lanes[Int(lane.place)]
      case .retries: LoopStatus.retries
      }
    self.init(
      name: name, lane: lane, incomplete: standing.open, committable: standing.committable,
      headAge: standing.headAge)
  }
}

extension LoopStatus.Record {
  fileprivate init(_ push: UnsafeMutablePointer<Push>, _ state: PushState, _ wall: Int64) {
    let envelope = push.pointee.envelope
    self.init(
      offset: state.origin.offset, age: max(0, wall - envelope.created),
      attempts: state.life.attempts, state: state.life.state,
      lastReason: String(decoding: push.pointee.field(envelope.lastReason), as: UTF8.self))
  }
}
