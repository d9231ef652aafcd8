// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Records
import Store

/// Applies jobs to the database by the rules of `TokenHygiene`. What it says to publish is the state that the
/// database is in afterwards, so the same jobs a second time publish the same again.
struct HygieneDesk {
  /// What is to be said about one device on `invalid-tokens`.
  struct Publication {
    let device: DeviceKey
    /// nil: a tombstone, the token lives again.
    let record: InvalidTokenRecord?
  }

  /// What became of a batch.
  struct Outcome {
    var publications: [Publication] = []
    var counts: [(counter: FeedbackCounter, count: Int)] = []
  }

  private let store: TokenStore
  private let clockSkew: Int64

  init(_ store: TokenStore, clockSkew: Int64) {
    self.store = store
    self.clockSkew = clockSkew
  }

  /// Applies all jobs in one transaction, or none.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func apply(_ jobs: [Job], now: Int64) throws(StoreError) -> Outcome {
    try store.transaction { () throws(StoreError) -> Outcome in
      var tally = Tally()
      for job in jobs {
        switch job.content {
        case .feedback(let record): try apply(record, now: now, &tally)
        case .device(let record): try apply(record, &tally)
        case .deadLetter: tally.add(.deadLettered)
        case .nothing: tally.add(.devices)
        }
      }
      var outcome = Outcome()
      for device in tally.touched {
        outcome.publications.append(try publication(device, now: now))
      }
      outcome.counts = FeedbackCounter.allCases.map { ($0, tally.counts[$0.rawValue]) }
      return outcome
    }
  }

  private func apply(
    _ record: FeedbackRecord, now: Int64, _ tally: inout Tally
  ) throws(StoreError) {
    tally.add(.feedback)
    let device = record.device.identity
    let verdict = TokenHygiene.verdict(
      status: record.status, reason: Reason(record.reason), timestamp: record.timestamp,
      sentAt: record.sentAt, registeredAt: try store.device(device)?.registeredAt,
      skew: clockSkew)
    switch verdict {
    case .invalidate(let since):
      tally.add(.invalidated)
      // The verdict knew the registration; the database asks once more.
      try store.invalidate(
        device, since: since, reason: record.reason, recordedAt: now,
        aliveFrom: TokenHygiene.earliestRevival(
          timestamp: record.timestamp, sentAt: record.sentAt, skew: clockSkew))
      tally.touch(record.device)
    case .keep:
      tally.add(.kept)
    case .suspect:
      tally.add(.suspected)
      try store.suspect(device, reason: record.reason, at: record.at)
    }
  }

  private func apply(_ record: DeviceRecord, _ tally: inout Tally) throws(StoreError) {
    tally.add(.devices)
    let device = record.device.identity
    switch record.event {
    case .removed(let time):
      try store.remove(device, at: time)
    case .registered(let time):
      try store.register(device, at: time)
      if try store.device(device)?.revivedAt == time {
        tally.add(.revived)
        tally.touch(record.device)
      }
    }
  }

  private func publication(_ device: DeviceKey, now: Int64) throws(StoreError) -> Publication {
    guard let stored = try store.device(device.identity), let since = stored.invalidSince else {
      return Publication(device: device, record: nil)
    }
    return Publication(
      device: device,
      record: InvalidTokenRecord(
        device: device, invalidSince: since, reason: stored.invalidReason,
        at: stored.recordedAt ?? now))
  }
}

/// Counts, and devices to speak of, in the order in which they first came up.
private struct Tally {
  var counts = Array(repeating: 0, count: FeedbackCounter.allCases.count)
  var touched: [DeviceKey] = []
  private var seen: Set<DeviceKey> = []

  mutating func add(_ counter: FeedbackCounter) { counts[counter.rawValue] += 1 }

  mutating func touch(_ device: DeviceKey) {
    if seen.insert(device).inserted { touched.append(device) }
  }
}

extension DeviceKey {
  /// The device as the database names it.
  var identity: DeviceIdentity {
    DeviceIdentity(token: token, app: app, environment: environment)
  }
}
