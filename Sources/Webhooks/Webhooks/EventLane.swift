// SPDX-License-Identifier: Apache-2.0
import Waiting

/// The ordered events of one partition for one endpoint: one batch at a time, and the next one when the endpoint has
/// accepted it or it is given up.
struct EventLane: Sendable {
  private enum Phase: Sendable {
    /// There is no batch yet.
    case gathering
    /// A batch waits for its turn.
    case waiting
    case sending
    case burying
  }

  private let limits: BatchLimits
  private var events: [WebhookEvent] = []
  /// When each event was read, in monotonic milliseconds.
  private var takenAt: [UInt64] = []
  private(set) var bytes = 0
  private var phase = Phase.gathering
  /// The number of events in the batch, at the front; 0 without one.
  private var count = 0
  /// The most bytes in a batch: half of one that was too large, and then nearer to that with each that is accepted.
  private var mostBytes: Int
  /// What later batches stay below: the bytes of the last one that was too large, and a quarter more after so many
  /// others, as the endpoint may take more by then; nil without one.
  private var tooLarge: Int?
  private var othersSince = 0
  private static let othersBeforeMore = 64
  private(set) var attempts = 0
  private var firstTriedAt: UInt64?
  private var backoff = RetrySchedule.backoff
  private(set) var notBefore: UInt64 = 0

  init(_ limits: BatchLimits) {
    self.limits = limits
    mostBytes = limits.bytes
  }

  var isBusy: Bool { phase == .sending || phase == .burying }
  var isSending: Bool { phase == .sending }
  /// When the oldest pending event was recorded, in milliseconds since the epoch. A registration may have a much older
  /// time (`martlet tokens import`), which does not count as a delay here.
  var oldest: Int64? { events.first.map { $0.recordedAt >= 0 ? $0.recordedAt : $0.time } }
  var queued: Int { events.count }

  mutating func add(_ new: [WebhookEvent], now: UInt64) {
    events += new
    takenAt += Array(repeating: now, count: new.count)
    bytes += new.reduce(0) { $0 + $1.text.count }
  }

  /// True if a batch is waiting for its turn; forms one when it is time.
  ///
  /// - Parameter isFull: whether no more events are read, so that waiting for more is pointless.
  mutating func hasBatch(isFull: Bool, now: UInt64) -> Bool {
    if phase == .waiting { return true }
    guard phase == .gathering, let first = takenAt.first else { return false }
    var size = 0
    var count = 0
    while count < events.count, count < limits.events,
      count == 0 || size + events[count].text.count <= mostBytes
    {
      size += events[count].text.count
      count += 1
    }
    let isComplete = count < events.count || count == limits.events || size >= mostBytes
    guard isComplete || isFull || now >= first + limits.linger else { return false }
    self.count = count
    phase = .waiting
    return true
  }

  var batch: ArraySlice<WebhookEvent> { events[..<count] }

  /// True if the batch has been retried for long enough.
  ///
  /// - Parameter outage: since when the endpoint has accepted nothing, in monotonic milliseconds.
  func isExpired(outage: UInt64?, isGone: Bool, window: UInt64, now: UInt64, wall: Int64) -> Bool {
    guard let taken = takenAt.first else { return false }
    if let since = firstTriedAt ?? (isGone ? taken : nil), now >= since + window { return true }
    // Later events have waited only as long as the outage. Both clocks must agree, since one may be wrong.
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

  mutating func failed(now: UInt64, random: UInt64) {
    phase = .waiting
    notBefore = now + backoff.failed(random: random)
  }

  /// Splits the batch into two halves.
  ///
  /// - Returns: false for a single event.
  mutating func split() -> Bool {
    guard count > 1 else { return false }
    let size = batchBytes
    (tooLarge, othersSince, mostBytes) = (size, 0, size / 2)
    restart()
    return true
  }

  private var batchBytes: Int { batch.reduce(0) { $0 + $1.text.count } }

  private mutating func grow() {
    guard var bound = tooLarge else { return }
    othersSince += 1
    if othersSince.isMultiple(of: Self.othersBeforeMore) { bound += bound / 4 + 1 }
    let isFree = bound > limits.bytes
    tooLarge = isFree ? nil : bound
    mostBytes = isFree ? limits.bytes : (mostBytes + bound) / 2
  }

  /// The endpoint has recovered: a batch that failed only because of the outage need not wait.
  mutating func endpointRecovered(after failures: Int, now: UInt64) {
    if backoff.failures <= failures { notBefore = min(notBefore, now) }
  }

  /// The batch is done.
  ///
  /// - Returns: the offsets of the records without pending events.
  mutating func finish() -> [Int64] {
    var offsets: [Int64] = []
    for index in 0..<count
    where index + 1 == events.count || events[index + 1].offset != events[index].offset {
      offsets.append(events[index].offset)
    }
    bytes -= batchBytes
    events.removeFirst(count)
    takenAt.removeFirst(count)
    grow()
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

/// The backoff of a failed batch.
enum RetrySchedule {
  /// About a second, doubled each time up to five minutes; half of it is random.
  static var backoff: Backoff { Backoff(base: 1_000, cap: 300_000) }
}
