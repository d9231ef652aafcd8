// SPDX-License-Identifier: Apache-2.0

import Contract

/// Where a push goes: into the line of its pool, aside, or to its end.
extension Dispatcher {
  /// Decides where a push goes from here: in line, aside, or to its end.
  mutating func route(_ slot: UInt32) {
    guard work.isSendable(slot) else { return }
    guard let credential = credentials.credential(for: work.pushes[slot]) else {
      if credentials.shouldRequestToken(of: work.pushes[slot], now: work.turn.now) {
        work.turn.append(.requestAppToken(slot: slot))
      }
      if work.hold(slot, forAllowed: Int32(Fairness.noCredential), .credential) {
        let now = work.turn.now
        work.tell(slot) { $0.awaitCredential(now: now) }
        unresolved.append(slot)
      }
      return
    }
    let pool = pool(of: credential, work.pushes[slot].kind)
    guard work.hold(slot, forAllowed: Pool.destination(pool), .share) else { return }
    enqueue(slot, pool)
  }

  /// Puts a push in line at its pool.
  private mutating func enqueue(_ slot: UInt32, _ pool: Int32) {
    work.hold(slot, for: Pool.destination(pool))
    pools.touch(pool)
    pools[pool].enqueue(slot, &work)
  }

  /// Lets the pushes go whose device's turn has come, and those for which there is room in their paces.
  mutating func takeTurns() {
    work.releasePaced()
    while let slot = work.nextTurn() {
      if work.isCurrent(slot) { route(slot) } else { work.handBack(slot) }
    }
  }

  /// What may be sent has changed: routes the pushes again that waited for that.
  public mutating func update(_ change: ControlChange) {
    for slot in work.update(change) { route(slot) }
    for index in work.partitions.indices where work.partitions[index].isHeld {
      if let slot = work.popDue(of: index) { route(slot) }
    }
  }

  // MARK: Out of line

  /// Moves aside what a stuck destination has over its share.
  mutating func shed() {
    guard let (destination, surplus) = work.shares.fairness.crowded else { return }
    guard destination == Fairness.noCredential else {
      return pools[Int32(destination) - 1].shed(surplus, &work)
    }
    for _ in 0..<surplus {
      guard let slot = unresolved.popFirst() else { return }
      work.divert(slot, .credential)
    }
  }

  /// The partitions are asked back: drops what waits unsent.
  mutating func handBack() {
    for pool in pools.indices {
      while let slot = pools[pool].popAny() { work.handBack(slot) }
    }
    while let slot = unresolved.popFirst() { work.handBack(slot) }
  }

  /// Routes the pushes again that wait for a credential and that it does not serve any more: another one may.
  mutating func routeAgain(_ credential: PoolCredential) {
    for pool in credentials.pools(of: credential) {
      for slot in pools[pool].removeUnserved(by: credential, credentials, work) { leaveLine(slot) }
    }
  }

  /// Routes a push again that was in the line of a pool.
  mutating func leaveLine(_ slot: UInt32) {
    work.tell(slot) { $0.leaveLine() }
    route(slot)
  }

  // MARK: Pushes that wait for a credential

  /// Puts the pushes in line that a credential now serves; the others keep their order and their time.
  mutating func routeUnresolved() {
    for _ in 0..<unresolved.count {
      guard let slot = unresolved.popFirst() else { return }
      guard let credential = credentials.credential(for: work.pushes[slot]) else {
        unresolved.append(slot)
        continue
      }
      work.tell(slot) { $0.gotCredential() }
      work.answered(Int32(Fairness.noCredential))
      enqueue(slot, pool(of: credential, work.pushes[slot].kind))
    }
  }

  /// Ends what has waited for a credential for too long, and what has expired meanwhile, also where a destination takes
  /// nothing.
  mutating func expireWaiting() {
    expireUnresolved()
    for pool in pools.indices where !pools[pool].queue.isEmpty && pools[pool].isBlocked {
      for slot in pools[pool].removeExpired(work.pushes, at: work.turn.wall) { work.expire(slot) }
    }
  }

  private mutating func expireUnresolved() {
    // Not in the order in which they began to wait: some come back from a retry topic.
    for _ in 0..<unresolved.count {
      guard let slot = unresolved.popFirst() else { return }
      if work.pushes[slot].isExpired(at: work.turn.wall) {
        work.expire(slot)
      } else if work.turn.now - work.pushes[slot].waitingSince >= settings.credentialWait,
        !credentials.mayServe(work.pushes[slot])
      {
        work.deadLetter(slot, .noCredential, credentials.cause(of: work.pushes[slot]))
      } else {
        unresolved.append(slot)
      }
    }
  }
}
