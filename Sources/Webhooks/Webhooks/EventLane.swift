// SPDX-License-Identifier: Apache-2.0
import Waiting

/// The events of one partition on their way to one endpoint, in their order: one batch at a time, and the next one when
/// the endpoint has it, or when it is given up.
struct EventLane: Sendable {
  private enum Phase: Sendable {
    /// No batch has been made.
    case gathering
    /// A batch waits for its turn.
    case waiting
    case sending
    case burying
  }

  private let limits: BatchLimits
  private var events: [WebhookEvent] = []
  /// When each was taken, monotonic milliseconds.
  private var takenAt: [UInt64] = []
  private(set) var bytes = 0
  private var phase = Phase.gathering
  /// Events of the batch, at the front; 0 without one.
  private var count = 0
  /// Events that a batch may have; less than the limit after one was too large.
  private var mostEvents: Int
  private(set) var attempts = 0
  private var firstTriedAt: UInt64?
  private var backoff = RetrySchedule.backoff
  private(set) var notBefore: UInt64 = 0

  init(_ limits: BatchLimits) {
    self.limits = limits
    mostEvents = limits.events
  }

  var isBusy: Bool { phase == .sending || phase == .burying }
  var isSending: Bool { phase == .sending }
  var failures: Int { backoff.failures }
  /// When the oldest event that is not done was recorded, milliseconds since the epoch. A registration may name a time long
  /// before (`martlet tokens import` does), for which nobody has waited here.
  var oldest: Int64? { events.first.map { $0.recordedAt >= 0 ? $0.recordedAt : $0.time } }
  var queued: Int { events.count }

  mutating func add(_ new: [WebhookEvent], now: UInt64) {
    events += new
    takenAt += Array(repeating: now, count: new.count)
    bytes += new.reduce(0) { $0 + $1.text.count }
  }

  // MARK: The batch

  /// True if there is a batch that waits for its turn; makes one if it is time.
  ///
  /// - Parameter isFull: nothing more is taken, so that nothing more can be waited for.
  mutating func hasBatch(isFull: Bool, now: UInt64) -> Bool {
    if phase == .waiting { return true }
    guard phase == .gathering, let first = takenAt.first else { return false }
    var size = 0
    var count = 0
    while count < events.count, count < mostEvents,
      count == 0 || size + events[count].text.count <= limits.bytes
    {
      size += events[count].text.count
      count += 1
    }
    let isComplete = count < events.count || count == mostEvents || size >= limits.bytes
    guard isComplete || isFull || now >= first + limits.linger else { return false }
    self.count = count
    phase = .waiting
    return true
  }

  /// The events of the batch.
  var batch: ArraySlice<WebhookEvent> { events[..<count] }

  /// True if the time for the batch is over.
  ///
  /// - Parameters:
  ///   - outage: since when the endpoint has accepted nothing, monotonic milliseconds.
  ///   - isGone: nothing is sent to the endpoint any more.
  func isExpired(outage: UInt64?, isGone: Bool, window: UInt64, now: UInt64, wall: Int64) -> Bool {
    guard let taken = takenAt.first else { return false }
    if let since = firstTriedAt ?? (isGone ? taken : nil), now >= since + window { return true }
    // What came later waited for the endpoint as long as it was away. One clock alone may be wrong.
    guard attempts > 0 || isGone, let outage, now >= outage + window else { return false }
    let newest = events[count - 1].recordedAt
    return newest >= 0 && wall - newest >= Int64(window)
  }

  mutating func send(now: UInt64) {
    phase = .sending
    attempts += 1
    firstTriedAt = firstTriedAt ?? now
  }

  mutating func bury() { phase = .burying }

  /// The endpoint did not take the batch.
  mutating func failed(now: UInt64, random: UInt64) {
    phase = .waiting
    notBefore = now + backoff.failed(random: random)
  }

  /// The batch is to be sent in two halves.
  ///
  /// - Returns: false for a single event.
  mutating func split() -> Bool {
    guard count > 1 else { return false }
    mostEvents = count / 2
    restart()
    return true
  }

  /// The endpoint is back: the batch need not wait if it has only failed because of that.
  mutating func endpointRecovered(after failures: Int, now: UInt64) {
    if backoff.failures <= failures { notBefore = min(notBefore, now) }
  }

  /// The batch is done.
  ///
  /// - Returns: the offsets of the records of which no event is left.
  mutating func finish() -> [Int64] {
    var offsets: [Int64] = []
    for index in 0..<count
    where index + 1 == events.count || events[index + 1].offset != events[index].offset {
      offsets.append(events[index].offset)
    }
    bytes -= batch.reduce(0) { $0 + $1.text.count }
    events.removeFirst(count)
    takenAt.removeFirst(count)
    mostEvents = min(limits.events, mostEvents * 2)
    backoff.succeeded()
    notBefore = 0
    restart()
    return offsets
  }

  private mutating func restart() {
    phase = .gathering
    count = 0
    attempts = 0
    firstTriedAt = nil
  }
}

/// The wait of a batch that failed.
enum RetrySchedule {
  /// About a second, then twice as long each time, five minutes at most; half of it by chance.
  static var backoff: Backoff { Backoff(base: 1_000, cap: 300_000) }
}
