// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// What keeps a push from going.
extension Workload {
  /// True if a push may go now. One that may not has its end here, or is moved aside: it has expired, APNs has called
  /// its device dead, its device was removed or has changed its owner, its device is throttled, or its app or campaign is
  /// held. Asked when it is routed and when it is sent, for that may have changed in line.
  mutating func isSendable(_ slot: UInt32) -> Bool {
    if pushes[slot].isExpired(at: turn.wall) {
      expire(slot)
      return false
    }
    if devices.maySuppress(now: turn.now), suppress(slot) { return false }
    if throttled.mayThrottle(now: turn.now), parkIfThrottled(slot) { return false }
    if isSuperseded(slot) {
      finish(slot, .superseded, .newerState)
      return false
    }
    if !pauses.campaigns.isEmpty, pushes[slot].campaign != 0, isOfHeldCampaign(slot) {
      return false
    }
    return !(pauses.hasApps && divertIfPaused(slot))
  }

  /// True if a push is of this assignment, and nobody has asked for that back: or its partition's next owner sends it.
  func isCurrent(_ slot: UInt32) -> Bool {
    partitions.isFeeding && partitions.hasNow(pushes[slot].origin)
  }

  /// True if a partition is one of a lane that is paused.
  func isPaused(_ index: Int) -> Bool {
    if case .lane(let lane) = partitions[index].topicKind { pauses.contains(lane) } else { false }
  }

  /// Holds a push for a destination, if that may hold one more, and if it is its device's turn. A push that waits for its
  /// turn counts for it, too: or an app that hangs would have all slots with what waits behind its open pushes.
  ///
  /// - Returns: false when it has been moved aside, or waits for its turn.
  mutating func hold(_ slot: UInt32, forAllowed destination: Int32, _ reason: ParkReason) -> Bool {
    if pushes[slot].destination != destination {
      guard admits(slot, to: destination) else {
        divert(slot, reason)
        return false
      }
      hold(slot, for: destination)
    }
    return !(settings.isOrdered || pushes.hasKey(slot)) || pushes[slot].hasTurn || takeTurn(slot)
  }

  /// Ends a push unsent if its campaign is over, and moves it to a retry topic if that is paused.
  private mutating func isOfHeldCampaign(_ slot: UInt32) -> Bool {
    switch pauses.campaigns[pushes[slot].campaign] {
    case .cancelled: finish(slot, .cancelled, .campaignOver)
    case .paused: divert(slot, .paused)
    case nil: return false
    }
    return true
  }

  /// Ends a push unsent if since it was requested its device was removed, has changed its owner, or APNs has called it dead.
  private mutating func suppress(_ slot: UInt32) -> Bool {
    guard pushes[slot].target.isDevice,
      let cause = devices.suppression(of: pushes[slot], now: turn.now)
    else { return false }
    finish(slot, .suppressed, cause)
    return true
  }

  /// Moves a push to a retry topic if its device is throttled.
  private mutating func parkIfThrottled(_ slot: UInt32) -> Bool {
    let remaining = Int64(throttled.remaining(pushes[slot].device, now: turn.now))
    // The throttled push itself comes back about when the time is over, by another clock.
    let hasWaited = pushes[slot].life.sendClass == .retry || pushes[slot].state.tier != nil
    let isDue = hasWaited && remaining < 1_000
    guard remaining > 0, !isDue else { return false }
    park(slot, RetryTier.fitting(remaining), .device)
    return true
  }

  /// Moves a push to a retry topic if its app is paused. Nothing of such an app waits here: whoever shares its credential
  /// is not kept waiting by it.
  private mutating func divertIfPaused(_ slot: UInt32) -> Bool {
    let isPaused = pauses.contains(app: pushes[slot].app, pushes[slot].kind.environment)
    if isPaused { divert(slot, .paused) }
    return isPaused
  }

  /// True if a newer push with its key was taken, and it is not the last state: it is of no more use.
  func isSuperseded(_ slot: UInt32) -> Bool {
    pushes.hasState(slot)
      && partitions.isSuperseded(pushes[slot], before: turn.wall - settings.collapseAfter)
  }
}
