// SPDX-License-Identifier: Apache-2.0

/// A consumer group as its coordinator sees it: whose partitions are whose, what is committed, who went on too slowly.
struct GroupModel {
  /// In the order of their turns.
  enum Kind: Int, CaseIterable { case signer, ingest, sender, feedback, scheduler }

  private enum Phase {
    case stable
    /// Members give back what they have; who has not by then is left behind.
    case revoking(until: UInt64)
  }

  let kind: Kind
  /// Of senders it is in their partitions.
  var committed: [Int64?]
  /// Grows with each assignment. Commits of an older one are refused.
  private(set) var generation = 0
  private var phase = Phase.stable
  /// When the next rebalance begins.
  private var changeAt: UInt64? = 0

  init(_ kind: Kind, partitions: Int) {
    self.kind = kind
    committed = Array(repeating: nil, count: partitions)
  }

  /// The group is to be rebalanced, at a time at the latest.
  mutating func wantRebalance(at time: UInt64) { changeAt = min(changeAt ?? .max, time) }

  mutating func grow() { committed.append(nil) }

  /// Moves a rebalance on.
  mutating func turn(_ members: [any GroupProcess], now: UInt64) {
    switch phase {
    case .stable:
      guard let changeAt, now >= changeAt else { return }
      self.changeAt = nil
      for process in members where !process.member.isFenced { process.member.revoke(isLost: false) }
      phase = .revoking(until: now + 8_000)
    case .revoking(let deadline):
      let isReady = members.allSatisfy { $0.member.isFenced || $0.member.hasUnassigned }
      guard isReady || now >= deadline else { return }
      assign(members)
      phase = .stable
    }
  }

  private mutating func assign(_ members: [any GroupProcess]) {
    generation += 1
    for process in members where !process.member.isFenced && !process.member.hasUnassigned {
      process.member.isFenced = true
    }
    let there = members.filter { !$0.member.isFenced && !$0.member.isStopping }
    for (index, process) in there.enumerated() {
      let mine = committed.indices.filter { ($0 + generation) % there.count == index }
      process.member.assign(mine, generation: generation)
    }
  }
}

/// A process that is a member of a group.
protocol GroupProcess: AnyObject {
  var member: MemberModel { get set }

  func turn(_ world: inout World)
  /// What was produced and not yet stored is stored by the time that the process is gone, or never.
  func crash(_ world: inout World)
}
