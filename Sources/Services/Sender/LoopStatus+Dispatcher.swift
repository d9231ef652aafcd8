// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import Kafka
import Pipeline
import Records

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
    _ dispatcher: inout Dispatcher, _ gateways: Gateways, _ queues: borrowing PartitionQueues,
    _ outcomes: OutcomeWriter
  ) {
    for number in dispatcher.destinations.pools.connections.numbers {
      guard let connection = gateways.connection(number) else { continue }
      connections.append(
        Connection(
          connection, dispatcher.destinations.pools.connections[number], now: dispatcher.turn.now))
    }
    for number in dispatcher.destinations.pools.indices
    where !dispatcher.destinations.pools[number].isRemoved {
      destinations.append(
        Destination(
          gateways.pool(number), dispatcher.destinations.pools[number], now: dispatcher.turn.now))
    }
    at = dispatcher.turn.now
    slow = dispatcher.work.pushes.count(
      createdBy: dispatcher.turn.wall - Self.slowMilliseconds)
    let oldest = dispatcher.work.pushes.oldest(of: dispatcher.work.partitions)
    for number in dispatcher.work.partitions.indices {
      var partition = Partition(
        dispatcher.standing(of: number), dispatcher.work.partitions[number].feed,
        queues.name(number))
      if let slot = oldest[number] {
        partition.oldest = Record(
          outcomes[slot], dispatcher.work.pushes[slot], dispatcher.turn.wall)
      }
      partitions.append(partition)
    }
  }
}

extension LoopStatus.Connection {
  fileprivate init(_ connection: GatewayConnection, _ state: Dispatch.Connection, now: UInt64) {
    self.init(
      address: connection.address, credential: connection.pool.credential,
      environment: connection.pool.environment, state: state.machine.state,
      openStreams: state.machine.openStreams, limit: state.machine.limit,
      credit: state.machine.credit, age: now - state.startedAt)
  }
}

extension LoopStatus.Destination {
  fileprivate init(_ pool: GatewayPool, _ state: Pool, now: UInt64) {
    pool.refusals.prune(state.health, now: now)
    // The breaker of an app that nobody sends to any more is no trouble.
    let trouble =
      state.health.trouble == .app && pool.refusals.all.isEmpty ? nil : state.health.trouble
    self.init(
      index: Int(pool.number), credential: pool.credential, environment: pool.environment,
      hasToken: state.isAuthorized, trouble: trouble,
      waiting: state.queue.count + state.apart.count,
      held: trouble == .app ? state.queue.beside : state.queue.count + state.apart.count,
      open: state.queue.open,
      accepted: pool.accepted, refused: pool.refused, retriesLeft: state.health.retriesLeft,
      refusals: pool.refusals.all.map {
        LoopStatus.Refusal(app: $0.app, reason: $0.reason, age: now - $0.since)
      })
  }
}

extension LoopStatus.Partition {
  fileprivate init(_ standing: PartitionStanding, _ feed: Feed, _ name: TopicPartition) {
    let lane =
      switch feed {
      case .lane(let lane): "\(lane)"
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
