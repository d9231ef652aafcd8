// SPDX-License-Identifier: Apache-2.0
import Delivery
import Pipeline

/// What the status pages show of a loop.
extension SenderLoop {
  /// Between two looks when nobody watches, in milliseconds.
  private static let unwatchedInterval: UInt64 = 10_000

  /// Writes down how the loop stands: at each call, once a second, while somebody watches.
  func publishStatusIfDue() {
    guard now >= nextStatus || telemetry.isWatched(now: now) else { return }
    nextStatus = now + Self.unwatchedInterval
    publishStatus()
  }

  /// Looks at every push.
  private func publishStatus() {
    var status = LoopStatus()
    for connection in connections {
      if let connection { status.connections.append(.init(connection, now: now)) }
    }
    for pool in pools {
      if let pool { status.destinations.append(.init(pool)) }
    }
    for index in partitions.indices {
      status.partitions.append(.init(&partitions[index], now: now))
    }
    noteOldest(&status.partitions)
    telemetry.publish(status)
  }

  /// APNs has answered a push, with whatever.
  func noteAnswer(_ push: UnsafeMutablePointer<Push>) {
    recorder.answered(
      push.pointee.envelope.lane, push.pointee.envelope.environment,
      created: push.pointee.envelope.created, sent: push.pointee.sentAt, now: wall)
  }

  /// The oldest push of each partition, by offset.
  private func noteOldest(_ facts: inout [LoopStatus.Partition]) {
    var oldest = [UnsafeMutablePointer<Push>?](repeating: nil, count: facts.count)
    pushes.visit { push in
      guard push.pointee.origin.epoch == epochOfPartitions else { return }
      let place = Int(push.pointee.origin.partition)
      if let known = oldest[place], known.pointee.origin.offset <= push.pointee.origin.offset {
        return
      }
      oldest[place] = push
    }
    for (place, push) in oldest.enumerated() {
      if let push { facts[place].oldest = .init(push, wall: wall) }
    }
  }
}

extension LoopStatus.Connection {
  fileprivate init(_ connection: GatewayConnection, now: UInt64) {
    let state = connection.state
    self.init(
      address: connection.address, credential: connection.pool.credential,
      environment: connection.pool.environment, state: state.state,
      openStreams: state.openStreams, limit: state.limit, credit: state.credit,
      age: now - connection.startedAt)
  }
}

extension LoopStatus.Destination {
  fileprivate init(_ pool: GatewayPool) {
    self.init(
      index: Int(pool.index), credential: pool.credential, environment: pool.environment,
      hasToken: pool.authentication == .certificate || pool.authorization != nil,
      trouble: pool.waiting.health.trouble, waiting: pool.waiting.count + pool.apart.count,
      open: pool.waiting.open, accepted: pool.accepted, refused: pool.refused)
  }
}

extension LoopStatus.Partition {
  fileprivate init(_ partition: inout Partition, now: UInt64) {
    let lane =
      switch partition.feed {
      case .lane(let lane): "\(lane)"
      case .retries: LoopStatus.retries
      }
    self.init(
      name: partition.name, lane: lane, incomplete: partition.open,
      committable: partition.ledger?.committable, headAge: partition.headAge(now: now))
  }
}

extension LoopStatus.Record {
  fileprivate init(_ push: UnsafeMutablePointer<Push>, wall: Int64) {
    let envelope = push.pointee.envelope
    self.init(
      offset: push.pointee.origin.offset, age: max(0, wall - envelope.created),
      attempts: push.pointee.life.attempts, state: push.pointee.life.state,
      lastReason: String(decoding: push.pointee.field(envelope.lastReason), as: UTF8.self))
  }
}
