// SPDX-License-Identifier: Apache-2.0
import Contract
import SignerDecisions
import TestSupport

/// A provider token as it stands in the simulated topic.
struct TopicRecord: Equatable {
  let stamp: ProviderTokenStamp
  /// True time at which the broker appended it, in milliseconds.
  let appendedAt: Int64
  /// True time at which it was minted.
  let mintedAt: Int64
}

/// One signer: its clock is wrong by seconds, it may be an owner that does not know yet that it is none.
struct SimulatedSigner {
  /// Milliseconds by which its clock is ahead of true time.
  var skew: Int64
  /// Running and in possession of the requests' partition, as far as it knows.
  private(set) var isOwner = false
  private var schedule = MintSchedule()
  /// It mints nothing before (true milliseconds): it has not read the topic to its end yet.
  private var caughtUpAt: Int64 = .max
  /// Records of the topic that it has read.
  private var position = 0
  /// A token is on its way to the topic.
  private var pending: (stamp: ProviderTokenStamp, appendsAt: Int64, mintedAt: Int64)?
  /// When it finds out that it is no owner any more.
  private var fencedAt: Int64 = .max

  init(skew: Int64) { self.skew = skew }

  func seconds(_ now: Int64) -> Int64 { (now + skew) / 1_000 }

  /// It becomes the owner: reads the topic again up to the end that it has then.
  mutating func elected(now: Int64, reading: Int64) {
    isOwner = true
    schedule = MintSchedule()
    position = 0
    caughtUpAt = now + reading
    fencedAt = .max
    pending = nil
  }

  /// It lost the ownership and notices at `time`; until then it believes in it (a zombie).
  mutating func fence(at time: Int64) { fencedAt = min(fencedAt, time) }

  /// The process is gone, and with it what was not appended.
  mutating func killed() {
    isOwner = false
    pending = nil
  }

  mutating func requested(now: Int64) {
    if isOwner { schedule.requested(.refused, now: seconds(now)) }
  }

  /// One turn.
  ///
  /// - Parameter latency: milliseconds that the broker takes for a record.
  /// - Returns: a record that was appended to the topic now.
  mutating func turn(_ topic: [TopicRecord], now: Int64, latency: Int64) -> TopicRecord? {
    guard isOwner else { return nil }
    var appended: TopicRecord?
    if let record = pending, now >= record.appendsAt {
      pending = nil
      schedule.published(record.stamp, at: nil)
      appended = TopicRecord(stamp: record.stamp, appendedAt: now, mintedAt: record.mintedAt)
    }
    if now >= fencedAt {
      killed()
      return appended
    }
    while position < topic.count {
      schedule.read(.own(topic[position].stamp, isComplete: true), at: Int64(position))
      position += 1
    }
    guard now >= caughtUpAt, pending == nil else { return appended }
    switch schedule.step(now: seconds(now)) {
    case .mint(let stamp): pending = (stamp, now + latency, now)
    case .publish(let stamp):
      // One that it has, again: after a record of a signer that did not know yet that it is none.
      let known = topic.first { $0.stamp.issuedAt == stamp.issuedAt }
      pending = (stamp, now + latency, known?.mintedAt ?? now)
    case nil: break
    }
    return appended
  }
}
