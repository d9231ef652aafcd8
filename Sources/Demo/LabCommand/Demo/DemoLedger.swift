// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The account of each notification of a run, from the produced requests and three independent reports: receipts, dead
/// letters and the gateway's own list.
///
/// Notifications are stored by their 128-bit id: about 60 bytes each, whatever their size.
public final class DemoLedger {
  /// Everything reported about one notification.
  public struct Account {
    /// The number of receipts of a sender's outcome, and of repeats that a sender or ingest suppressed.
    public var receipts: UInt16 = 0
    public var deduplicated: UInt16 = 0
    public var suppressed: UInt16 = 0
    /// The number of the gateway's 200 responses, and of others.
    public var accepted: UInt16 = 0
    public var refused: UInt16 = 0
    /// The outcome of the first of `receipts`; 255 before there is one.
    var outcome: UInt8 = .max
    /// The index of the receipt's reason.
    var reason: UInt16 = 0
    public var isDeadLetter = false
    /// Whether a request of this run asked for it. A receipt may be read before the request's delivery report, so an
    /// account is created by whichever comes first.
    public var isExpected = false

    public var isAccountedFor: Bool {
      receipts > 0 || deduplicated > 0 || suppressed > 0 || isDeadLetter
    }
  }

  /// A request on its topic.
  private struct Request {
    let firstID: Int32
    let idCount: Int32
    var deadTokens: Int32 = 0
    var isDead = false
  }

  private var accounts: [NotificationID: Account] = [:]
  private var requests: [UInt64: Request] = [:]
  private var ids: [NotificationID] = []
  /// The positions of requests in order of acknowledgement.
  private var order: [UInt64] = []
  private var settledCount = 0
  private var reasons = ["none"]
  /// Dead letters of unknown requests, whose delivery reports may come later.
  private var early: [UInt64: (whole: Int, tokens: Int)] = [:]
  /// The number of receipts, and of dead letters by reason.
  public private(set) var receiptCount = 0
  public private(set) var deadLetters: [String: Int] = [:]

  public init() {}

  /// The number of notifications that the requests so far ask for.
  public var askedCount: Int { ids.count }

  public var deadLetterCount: Int { deadLetters.values.reduce(0, +) }

  /// Records that Kafka acknowledged a request at this position.
  public func produced(partition: Int32, offset: Int64, ids newIDs: [NotificationID]) {
    let place = Self.place(partition, offset)
    var request = Request(firstID: Int32(ids.count), idCount: Int32(newIDs.count))
    if let known = early.removeValue(forKey: place) {
      request.isDead = known.whole > 0
      request.deadTokens = Int32(known.tokens)
    }
    requests[place] = request
    order.append(place)
    ids.append(contentsOf: newIDs)
    for id in newIDs { accounts[id, default: Account()].isExpected = true }
  }

  public func receipt(_ id: NotificationID, _ outcome: Outcome, reason: String?) {
    receiptCount += 1
    let index = reason.map { number(of: $0) } ?? 0
    enter(outcome, index, into: &accounts[id, default: Account()])
  }

  private func enter(_ outcome: Outcome, _ reason: UInt16, into account: inout Account) {
    switch outcome {
    case .deduplicated: account.deduplicated &+= 1
    // A repeated request whose device was unregistered in between has its own outcome and is no duplicate.
    case .suppressed: account.suppressed &+= 1
    case .deadLettered: account.isDeadLetter = true
    case .delivered, .rejected, .expired, .superseded, .cancelled:
      enterSent(outcome, reason, into: &account)
    // The outcome of a request, which has no notification id.
    case .addressed: break
    }
  }

  private func enterSent(_ outcome: Outcome, _ reason: UInt16, into account: inout Account) {
    account.receipts &+= 1
    if account.outcome == .max {
      account.outcome = outcome.rawValue
      account.reason = reason
    }
  }

  /// Records a dead letter that ingest wrote about the request at this position, or about one of its tokens.
  public func deadLetter(partition: Int32, offset: Int64, isOneToken: Bool, reason: String) {
    deadLetters[reason, default: 0] += 1
    let place = Self.place(partition, offset)
    if requests[place] == nil {
      early[place, default: (0, 0)].whole += isOneToken ? 0 : 1
      early[place]!.tokens += isOneToken ? 1 : 0
    } else if isOneToken {
      requests[place]!.deadTokens += 1
    } else {
      requests[place]!.isDead = true
    }
  }

  /// Records a dead letter that a sender wrote about a notification.
  public func deadLetter(_ id: NotificationID, reason: String) {
    deadLetters[reason, default: 0] += 1
    accounts[id, default: Account()].isDeadLetter = true
  }

  /// Records a response in the gateway's list.
  public func answered(_ id: NotificationID, status: Int) {
    if status == 200 {
      accounts[id, default: Account()].accepted &+= 1
    } else {
      accounts[id, default: Account()].refused &+= 1
    }
  }

  private func number(of reason: String) -> UInt16 {
    if let index = reasons.firstIndex(of: reason) { return UInt16(index) }
    reasons.append(reason)
    return UInt16(reasons.count - 1)
  }

  /// The number of requests acknowledged with an offset.
  public var requestCount: Int { order.count }

  public func knows(partition: Int32, offset: Int64) -> Bool {
    requests[Self.place(partition, offset)] != nil
  }

  /// The first request, in order of acknowledgement, that is not accounted for.
  public var firstUnsettled: (partition: Int32, offset: Int64, ids: [NotificationID])? {
    guard settledRequests() < order.count else { return nil }
    let place = order[settledCount]
    let request = requests[place]!
    let range = Int(request.firstID)..<Int(request.firstID + request.idCount)
    return (Int32(place >> 48), Int64(place & 0xffff_ffff_ffff), Array(ids[range]))
  }

  /// The account of a notification; nil if there is none.
  public subscript(id: NotificationID) -> Account? { accounts[id] }

  /// The notifications that the requests ask for; one requested twice is listed twice.
  public var expectedIDs: [NotificationID] { ids }

  /// The number of unaccounted notifications, and requests without one, of a partition's requests below an offset,
  /// except those in `isTaken`.
  public func open(
    partition: Int32, below offset: Int64, isTaken: (NotificationID) -> Bool
  ) -> Int {
    var count = 0
    for (place, request) in requests where !request.isDead {
      guard place >> 48 == UInt64(partition), place & 0xffff_ffff_ffff < offset else { continue }
      count += open(request, isTaken)
    }
    return count
  }

  /// The number of consecutive requests, from the first one acknowledged, that are accounted for: shows how long a
  /// fault delays the pipeline.
  ///
  /// - Parameter mayWait: Whether a notification waits legitimately, so that it does not count as a delay.
  public func settledRequests(_ mayWait: (NotificationID) -> Bool = { _ in false }) -> Int {
    while settledCount < order.count, open(requests[order[settledCount]]!, mayWait) == 0 {
      settledCount += 1
    }
    return settledCount
  }

  private static func place(_ partition: Int32, _ offset: Int64) -> UInt64 {
    UInt64(partition) << 48 | UInt64(offset)
  }
}

extension DemoLedger {
  /// The number of notifications of produced requests that are not accounted for yet.
  ///
  /// A request whose text names no notification must be a dead letter itself; in others each token must have a receipt
  /// or a dead letter.
  public var missing: Int { requests.values.reduce(0) { $0 + open($1) } }

  /// The number of a request's notifications that are not accounted for.
  private func open(
    _ request: Request, _ isTaken: (NotificationID) -> Bool = { _ in false }
  ) -> Int {
    guard !request.isDead else { return 0 }
    guard request.idCount > 0 else { return 1 }
    var open = 0
    for index in request.firstID..<request.firstID + request.idCount {
      let id = ids[Int(index)]
      if accounts[id]?.isAccountedFor != true, !isTaken(id) { open += 1 }
    }
    return max(0, open - Int(request.deadTokens))
  }

  /// The lost notifications and the positions of their requests.
  public var lost: [(id: NotificationID, partition: Int32, offset: Int64)] {
    var lost: [(id: NotificationID, partition: Int32, offset: Int64)] = []
    for (place, request) in requests where !request.isDead {
      for index in request.firstID..<request.firstID + request.idCount {
        let id = ids[Int(index)]
        guard accounts[id]?.isAccountedFor != true else { continue }
        lost.append((id, Int32(place >> 48), Int64(place & 0xffff_ffff_ffff)))
      }
    }
    return lost
  }

  /// The lost notifications and the gateway's responses to them, one per line, for finding the cause. One of many
  /// tokens in a request may be bad.
  public var lostLines: [String] {
    lost.map { lost in
      let account = accounts[lost.id] ?? Account()
      return "\(lost.id) request=\(lost.partition)/\(lost.offset)"
        + " accepted=\(account.accepted) refused=\(account.refused)"
    }
  }

  /// The totals of all accounts.
  ///
  /// Accounts of other producers' requests, on a shared cluster, are omitted.
  public var totals: DemoTotals {
    var totals = DemoTotals()
    totals.requests = requests.count
    totals.lost = missing
    totals.deadLettered = deadLetterCount
    for account in accounts.values where account.isExpected { add(account, to: &totals) }
    return totals
  }

  private func add(_ account: Account, to totals: inout DemoTotals) {
    totals.deduplicated += Int(account.deduplicated)
    totals.suppressed += Int(account.suppressed)
    let repeated = max(account.accepted, account.receipts)
    totals.duplicates += max(0, Int(repeated) - 1)
    guard let outcome = Outcome(rawValue: account.outcome) else { return }
    switch outcome {
    case .delivered:
      totals.delivered += 1
      if account.accepted == 0 { totals.unconfirmed += 1 }
    case .rejected:
      totals.rejected[reasons[Int(account.reason)], default: 0] += 1
      if account.refused == 0 { totals.unconfirmed += 1 }
    case .expired: totals.expired += 1
    case .superseded: totals.superseded += 1
    case .suppressed, .deduplicated, .cancelled, .deadLettered, .addressed: break
    }
  }
}

/// The totals of a run.
public struct DemoTotals: Equatable, Sendable {
  public var requests = 0
  public var delivered = 0
  public var rejected: [String: Int] = [:]
  public var expired = 0
  public var superseded = 0
  public var suppressed = 0
  public var deduplicated = 0
  public var deadLettered = 0
  /// Notifications accepted by the gateway, or given an outcome, more than once.
  public var duplicates = 0
  public var lost = 0
  /// Receipts that contradict the gateway's own list.
  public var unconfirmed = 0
}
