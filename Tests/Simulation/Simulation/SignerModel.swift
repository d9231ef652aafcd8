// SPDX-License-Identifier: Apache-2.0
import Contract
import SignerDecisions
import Waiting

/// The topics of provider tokens and of requests for them.
struct TokenTopicModel {
  struct Record {
    var key: Int
    /// nil: a tombstone.
    var stamp: ProviderTokenStamp?
  }

  let apps: [[String]]
  private(set) var records: [Record] = []
  /// The same, as senders take them.
  private(set) var updates: [ProviderTokenBook.Update] = []
  /// Which credential a sender asked for, and when.
  private(set) var requests: [(key: Int, at: Int64)] = []
  /// Credentials that the file does not list at the moment.
  var withdrawn: Set<Int> = []
  /// Until when two signers may be at work, or one with a wrong clock.
  var troubleUntil: UInt64 = 1_060_000
  private var mintedAt: [Int: UInt64] = [:]

  init(apps: [[String]]) { self.apps = apps }

  /// Whether a sender that has read so many records knows a credential.
  func isKnown(_ key: Int, below end: Int) -> Bool {
    records[..<end].last { $0.key == key }?.stamp != nil
  }

  mutating func request(_ credential: String, at time: Int64) {
    guard let key = Int(credential.dropFirst(3)) else { return }
    requests.append((key, time))
  }

  /// A record is stored.
  ///
  /// - Parameter minted: when its token was minted, if it is a new one.
  mutating func append(_ record: Record, minted: UInt64?, now: UInt64, _ kafka: inout KafkaModel) {
    records.append(record)
    guard let stamp = record.stamp else {
      kafka.note("key \(record.key) is withdrawn")
      return updates.append(.removed(credential: "key\(record.key)"))
    }
    kafka.note("key \(record.key): token of \(stamp.issuedAt), generation \(stamp.generation)")
    updates.append(
      .token(
        .init(
          credential: "key\(record.key)", teamID: "team", keyID: "k\(record.key)", scope: .any,
          apps: apps[record.key], stamp: stamp, token: Array("token \(stamp.issuedAt)".utf8))))
    if let minted { judge(record.key, stamp, minted, now: now, &kafka) }
  }

  /// A signer begins to write. What the topic has of credentials that the file does not list says nothing to it, so they
  /// are new when they come back.
  mutating func ownerBegins() {
    for key in withdrawn { mintedAt[key] = nil }
  }

  private mutating func judge(
    _ key: Int, _ stamp: ProviderTokenStamp, _ minted: UInt64, now: UInt64,
    _ kafka: inout KafkaModel
  ) {
    // One that is dated in the future is set aside by senders.
    if stamp.isFromFuture(now: Int64(minted) + World.epoch) { return }
    // One that was minted before may be stored behind it, by the owner before.
    if let last = mintedAt[key], now > troubleUntil {
      let apart = max(minted, last) - min(minted, last)
      if apart < 20 * 60_000 {
        kafka.fail("two provider tokens were minted within \(apart / 1_000) s")
      }
    }
    mintedAt[key] = max(minted, mintedAt[key] ?? 0)
  }
}

/// One process of the signer: the shipped group membership and `SignerMachine`, on the topics as models.
final class SignerModel: GroupProcess {
  private struct Pending {
    var record: TokenTopicModel.Record
    var minted: UInt64?
    var appendsAt: UInt64
  }

  var member = MemberModel(.signer)
  private var machine = SignerMachine()
  /// The credentials of the file, by their places in the machine.
  private var listed: [Int] = []
  private let keys: Int
  private var read = 0
  private var pending: [Pending] = []
  /// Milliseconds by which its clock is ahead of true time, and by how much more for a while.
  private let skew: Int64
  private(set) var jump: (by: Int64, until: UInt64) = (0, 0)

  init(keys: Int, skew: Int) {
    self.keys = keys
    self.skew = Int64(skew)
  }

  func setClock(by step: Int64, until time: UInt64) { jump = (step, time) }

  private func seconds(_ world: World) -> Int64 {
    (world.wall + skew + (world.now < jump.until ? jump.by : 0)) / 1_000
  }

  private static func name(_ key: Int) -> String { "key\(key)" }

  func turn(_ world: inout World) {
    machine.beginTurn(now: world.now)
    store(&world)
    readFile(world)
    while let task = member.next(&world, isIdle: pending.isEmpty) {
      switch task {
      case .begun(let partitions):
        read = 0
        if !partitions.isEmpty {
          machine.begin(now: world.now)
          world.tokens.ownerBegins()
        }
      case .drain: machine.stop()
      case .abandon: withdrawPending()
      case .unassigned, .begin, .forget, .told: break
      }
    }
    guard machine.isOwner, member.isAssigned else { return }
    readTopic(world)
    readRequests(&world)
    if world.isCalm || !world.chance.oneIn(4) { work(&world) }
  }

  func crash(_ world: inout World) {
    for pending in pending where world.chance.oneIn(2) {
      world.tokens.append(pending.record, minted: pending.minted, now: world.now, &world.kafka)
    }
  }

  private func readFile(_ world: World) {
    let list = (0..<keys).filter { !world.tokens.withdrawn.contains($0) }
    guard list != listed else { return }
    listed = list
    _ = machine.replace(list.map { (Self.name($0), world.tokens.apps[$0]) }, now: world.now)
  }

  /// What the broker has not acknowledged is withdrawn.
  private func withdrawPending() {
    for item in pending {
      let name = Self.name(item.record.key)
      if item.record.stamp == nil { machine.notWithdrawn(name) } else { machine.notPublished(name) }
    }
    pending = []
  }

  private func store(_ world: inout World) {
    while let first = pending.first, first.appendsAt <= world.now {
      pending.removeFirst()
      let offset = Int64(world.tokens.records.count)
      world.tokens.append(first.record, minted: first.minted, now: world.now, &world.kafka)
      guard let stamp = first.record.stamp else { continue }
      let key = first.record.key
      machine.published(stamp, apps: world.tokens.apps[key], of: Self.name(key), at: offset)
    }
  }

  private func readTopic(_ world: World) {
    while read < world.tokens.records.count {
      let record = world.tokens.records[read]
      let name = Self.name(record.key)
      if let stamp = record.stamp {
        machine.read(.own(stamp, isComplete: true), of: name, at: Int64(read))
      } else {
        machine.forgotten(name, at: Int64(read))
      }
      read += 1
    }
  }

  private func readRequests(_ world: inout World) {
    let count = Int64(world.tokens.requests.count)
    while let (partition, offset) = member.take(&world, end: { _ in count }) {
      let request = world.tokens.requests[Int(offset)]
      if let place = machine.place(of: Self.name(request.key)) {
        machine.requested(.refused, of: place, at: request.at / 1_000, wall: seconds(world))
      }
      member.completed(partition, epoch: member.epoch, offset)
    }
  }

  private func work(_ world: inout World) {
    guard machine.mayWrite(isRead: true, now: world.now) else { return }
    for place in machine.indices {
      let key = listed[place]
      guard let work = machine.work(place, wall: seconds(world)) else { continue }
      if work.clears { produce(.init(key: key, stamp: nil), minted: nil, &world) }
      switch work.step {
      case .mint(let stamp): produce(.init(key: key, stamp: stamp), minted: world.now, &world)
      case .publish(let stamp): produce(.init(key: key, stamp: stamp), minted: nil, &world)
      }
    }
    for name in machine.drainUnlisted(wall: seconds(world), now: world.now).sorted() {
      produce(.init(key: Int(name.dropFirst(3))!, stamp: nil), minted: nil, &world)
    }
  }

  private func produce(_ record: TokenTopicModel.Record, minted: UInt64?, _ world: inout World) {
    let latency = world.chance.oneIn(30) ? world.chance.within(1...5_000) : 20
    pending.append(Pending(record: record, minted: minted, appendsAt: world.now + UInt64(latency)))
  }
}
