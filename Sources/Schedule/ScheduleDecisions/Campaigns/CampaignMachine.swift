// SPDX-License-Identifier: Apache-2.0
public import Schedule

/// One campaign in the process that owns it: when its audience is counted and read, which devices are addressed, when how
/// far it is is written, and when it stops itself. Events and times in, actions out. Times are milliseconds since the
/// epoch.
///
/// Devices are addressed page by page, in the order of their tokens; with a local time in waves, one after the other. A
/// record says up to which token that is done: it is written after Kafka has the requests, so a kill repeats at most
/// `mostUnsaved` pages, with the same ids.
///
/// With a pace no more devices are addressed than are sent to within half a minute (`CampaignAhead`), and a page is read
/// from the database when its turn is near. One that was read and is not addressed is read again after a pause.
public struct CampaignMachine: Sendable {
  public enum Action: Equatable, Sendable {
    /// Set the pace of its requests, or remove it; ends with `paced` or `paceFailed`.
    case setPace(isSet: Bool)
    /// Count the audience; ends with `counted` or `unanswered`.
    case count
    /// Find out in which waves the audience is addressed; ends with `found` or `unanswered`.
    case findWaves
    /// Read devices of the audience behind this place (`CampaignProgress.cursor`); with a local time those of the progress's
    /// wave. Ends with `read` or `unanswered`.
    case read(after: String, limit: Int)
    /// Write the requests of a page that was read; ends with `produced` or `postponed`.
    case produce(page: Int)
    /// Write how far it is; ends with `saved`.
    case save(CampaignProgress)
    /// Remove its record; ends with `forgetFailed`, or for good.
    case forget
  }

  /// With a pace, in pushes a millisecond, no more devices are addressed and without an outcome.
  public static func mostAhead(_ pace: Double) -> Int { CampaignAhead.most(pace) }

  private struct Page: Sendable {
    let number: Int
    let count: Int
    let last: String
    let readAt: Int64
    var isProducing = false
    var isProduced = false
  }

  /// What its record says, and the one that is on its way.
  private struct Record: Sendable {
    var isDirty = false
    var isSaving = false
    /// Pages that Kafka has and no record says so, and those of them that the one under way does.
    var unsavedPages = 0
    var savingPages = 0
    /// Devices that the last record counts as addressed, and that the one under way does.
    var devices: Int
    var savingDevices = 0
  }

  /// Pages that were handed to Kafka and are in no record, at most.
  public static var mostUnsaved: Int { 10 }
  /// The share of the first part whose outcomes are known when it is judged.
  static var evidence: Double { 0.9 }
  /// Bad outcomes among fewer than these stop nothing, where there is no first part.
  static var leastOutcomes: Int { 100 }
  /// Clocks differ by less than this.
  static var clockDifference: Int64 { 1_000 }
  /// A question that was not answered is asked again after so long.
  static var pause: Int64 { 1_000 }
  /// Senders know a pace after so long: the first page waits for that.
  static var paceLead: Int64 { 1_000 }
  /// Devices of a page are read again when they were not addressed for so long: they may have changed.
  static var shelfLife: Int64 { 30_000 }
  /// A campaign that is over is remembered for so long: its name cannot be used meanwhile.
  static var kept: Int64 { 30 * 86_400_000 }

  public let plan: CampaignPlan
  private let pageSize: Int
  /// As it is; its record may be behind.
  public private(set) var progress: CampaignProgress
  public var control = CampaignControl()
  /// The pace of its requests, in pushes a millisecond: its own, or what operators have made of it; nil for none.
  public var pace: Double?
  /// Whether its pace may be set: its app has not too many.
  public var maySetPace = true
  private var ahead = CampaignAhead()
  private var pages: [Page] = []
  private var lastNumber = 0
  private var record: Record
  private var isAsking = false
  /// The answer to the question under way is of before a pause.
  private var isOutdated = false
  /// Of the wave, if there are some.
  private var hasReadAll = false
  /// The instants of the waves that are not over, in their order; nil before they are known.
  private var waves: [Int64]?
  private var askNotBefore = Int64.min
  /// Whether a pace is being set (true) or removed.
  private var pacing: Bool?
  private var produceNotBefore = Int64.min
  private var isForgotten = false
  private var isDraining = false
  /// It ends when Kafka has the pages that are on their way.
  private var isEnding = false

  /// - Parameter progress: as its record has it.
  public init(_ plan: CampaignPlan, _ progress: CampaignProgress, pageSize: Int) {
    (self.plan, self.progress, self.pageSize) = (plan, progress, pageSize)
    record = Record(devices: progress.addressed)
  }

  /// Whether nothing of it is on its way to Kafka.
  public var isIdle: Bool {
    !record.isSaving && !record.isDirty && pacing == nil && !pages.contains { $0.isProducing }
  }

  /// Nothing further is begun.
  public mutating func drain() { isDraining = true }

  // MARK: Events

  /// - Parameter start: the place before the first device.
  public mutating func counted(_ total: Int, start: String = "") {
    (isAsking, isOutdated) = (false, false)
    (progress.total, progress.cursor) = (total, start)
    record.isDirty = true
  }

  /// The waves of the audience by their instants. A new owner goes on with the one that the progress has.
  public mutating func found(waves: [Int64]) {
    (isAsking, isOutdated) = (false, false)
    enter(waves.sorted().drop { $0 < progress.wave ?? .min })
  }

  /// The first of these waves is the next one.
  private mutating func enter(_ left: ArraySlice<Int64>) {
    (waves, hasReadAll) = (Array(left), left.isEmpty)
    guard let wave = left.first, wave != progress.wave else { return }
    (progress.wave, progress.cursor) = (wave, "")
    record.isDirty = true
  }

  /// The answer to `read`.
  ///
  /// - Parameters:
  ///   - count: devices of the page; fewer than were asked for: there are no more.
  ///   - last: the place of the last one.
  /// - Returns: the page's number; nil if it has no devices, or is of no use any more.
  public mutating func read(count: Int, last: String, limit: Int, now: Int64) -> Int? {
    defer { (isAsking, isOutdated) = (false, false) }
    guard !isOutdated else { return nil }
    hasReadAll = count < limit
    guard count > 0 else { return nil }
    lastNumber += 1
    pages.append(Page(number: lastNumber, count: count, last: last, readAt: now))
    return lastNumber
  }

  /// True for a page that was read, and that Kafka does not have yet; another one is of no use any more.
  public func isOpen(page number: Int) -> Bool { pages.contains { $0.number == number } }

  /// Pages that are not handed to Kafka are read again, when their turn comes.
  private mutating func discard() {
    if pages.contains(where: { !$0.isProducing }) { hasReadAll = false }
    pages.removeAll { !$0.isProducing }
    isOutdated = isAsking
  }

  /// The database does not answer.
  public mutating func unanswered(now: Int64) {
    (isAsking, isOutdated) = (false, false)
    askNotBefore = now + Self.pause
  }

  /// Kafka's client has no room for a page.
  public mutating func postponed(page number: Int) { update(number) { $0.isProducing = false } }

  /// Kafka has all requests of a page.
  public mutating func produced(page number: Int) {
    update(number) { $0.isProduced = true }
    while let page = pages.first, page.isProduced {
      pages.removeFirst()
      progress.cursor = page.last
      progress.addressed = min(progress.addressed + page.count, Int(CampaignProgress.most))
      record.unsavedPages += 1
      record.isDirty = true
    }
  }

  private mutating func update(_ number: Int, _ change: (inout Page) -> Void) {
    guard let index = pages.firstIndex(where: { $0.number == number }) else { return }
    change(&pages[index])
  }

  /// Kafka has the record that `save` named.
  public mutating func saved() {
    record.isSaving = false
    record.unsavedPages -= record.savingPages
    record.devices = record.savingDevices
  }

  /// That record could not be written now.
  public mutating func saveFailed() {
    (record.isSaving, record.isDirty) = (false, true)
    progress.revision -= 1
    (record.savingPages, record.savingDevices) = (0, record.devices)
  }

  /// Kafka has the pace, or that there is none any more.
  public mutating func paced(now: Int64) {
    if pacing == true {
      progress.hasSetPace = true
      produceNotBefore = now + Self.paceLead
    } else {
      progress.hasSetPace = false
    }
    record.isDirty = true
    pacing = nil
  }

  /// The pace could not be written now.
  public mutating func paceFailed() { pacing = nil }

  /// Its record could not be removed now.
  public mutating func forgetFailed() { isForgotten = false }

  /// Something else than its progress is to be written.
  public mutating func touch() { record.isDirty = true }

  /// This is what its author should know, or nothing any more.
  public mutating func tell(_ note: String?) {
    guard note != progress.note else { return }
    progress.note = note
    record.isDirty = true
  }

  // MARK: Steps

  /// The next action; nil when there is none now. To be called until then, every turn.
  public mutating func next(now: Int64, _ evidence: CampaignEvidence) -> Action? {
    if !isDraining {
      follow(now, evidence)
      decide(now, evidence)
    }
    if record.isDirty, !record.isSaving {
      (record.isDirty, record.isSaving) = (false, true)
      (record.savingPages, record.savingDevices) = (record.unsavedPages, progress.addressed)
      progress.revision = min(progress.revision + 1, CampaignProgress.most)
      return .save(progress)
    }
    guard !isDraining else { return nil }
    if progress.state.isOver { return forgetting(now, evidence) }
    guard !isEnding, pacing == nil else { return nil }
    if plan.hasPace, !progress.hasSetPace {
      guard maySetPace else { return nil }
      pacing = true
      return .setPace(isSet: true)
    }
    guard progress.state == .running, !control.isPaused else { return nil }
    if now >= produceNotBefore, let index = pages.firstIndex(where: { !$0.isProducing }),
      mayProduce(pages[index])
    {
      pages[index].isProducing = true
      return .produce(page: pages[index].number)
    }
    return question(now, evidence)
  }

  /// At a pace a kill repeats no more than one page, or a tenth of what may be addressed.
  private func mayProduce(_ page: Page) -> Bool {
    let producing = pages.filter(\.isProducing)
    guard record.unsavedPages + producing.count < Self.mostUnsaved else { return false }
    let unsaved = producing.reduce(progress.addressed - record.devices) { $0 + $1.count }
    guard let pace, unsaved > 0 else { return true }
    return unsaved + page.count <= CampaignAhead.page(pace, atMost: .max)
  }

  /// Notes what it is asked for, how far its pushes are, and what has become too old.
  private mutating func follow(_ now: Int64, _ evidence: CampaignEvidence) {
    let isPaused = control.isPaused && isUnderWay(now, evidence)
    if isPaused != progress.isPaused {
      (progress.isPaused, record.isDirty) = (isPaused, true)
      if isPaused { discard() }
    }
    if let page = pages.first(where: { !$0.isProducing }), now - page.readAt > Self.shelfLife {
      discard()
    }
    guard let pace else { return }
    if ahead.isTooFar(planned: planned, ended: evidence.ended, pace) { discard() }
    ahead.note(
      planned: planned, ended: evidence.ended, pace,
      isHeld: isPaused || progress.state != .running, now: now)
  }

  /// Devices that are addressed, or about to be.
  private var planned: Int { pages.reduce(progress.addressed) { $0 + $1.count } }

  /// Whether anything of it may still be sent, as far as is known.
  public func isUnderWay(_ now: Int64, _ evidence: CampaignEvidence) -> Bool {
    switch progress.state {
    case .scheduled, .running, .trial: true
    case .done:
      evidence.ended < progress.addressed
        && now <= (progress.endedAt ?? now) + CampaignProgress.countedAfterEnd
    case .cancelled, .stopped: false
    }
  }

  /// When its last push has its outcome its pace goes, long after its end its record.
  private mutating func forgetting(_ now: Int64, _ evidence: CampaignEvidence) -> Action? {
    guard let ended = progress.endedAt, isIdle, !isForgotten else { return nil }
    if plan.hasPace, progress.hasSetPace,
      evidence.ended >= progress.addressed || now > ended + CampaignProgress.countedAfterEnd
    {
      pacing = false
      return .setPace(isSet: false)
    }
    guard now > ended + Self.kept else { return nil }
    isForgotten = true
    return .forget
  }

  private mutating func question(_ now: Int64, _ evidence: CampaignEvidence) -> Action? {
    // A clock that was ahead may have set the time.
    guard !isAsking, now >= askNotBefore || now < askNotBefore - Self.pause, !hasReadAll,
      pages.count < Self.mostUnsaved
    else { return nil }
    guard let total = progress.total else {
      isAsking = true
      return .count
    }
    if plan.local != nil, waves == nil {
      isAsking = true
      return .findWaves
    }
    guard now >= progress.wave ?? .min else { return nil }
    var limit = min(pageSize, (trialDevices(total) ?? .max) - planned)
    if let pace {
      limit = min(limit, CampaignAhead.page(pace, atMost: pageSize))
      guard ahead.room(planned: planned, ended: evidence.ended, pace) >= limit else { return nil }
    }
    guard limit > 0 else { return nil }
    isAsking = true
    return .read(after: pages.last?.last ?? progress.cursor, limit: limit)
  }

  /// The devices of the first part while it is not over.
  private func trialDevices(_ total: Int) -> Int? {
    progress.trialEndedAt == nil ? plan.trial?.devices(of: total) : nil
  }

  private mutating func decide(_ now: Int64, _ evidence: CampaignEvidence) {
    guard isUnderWay(now, evidence) else { return }
    if let by = control.cancelledBy { return end(.cancelled, now, "cancelled by \(by)") }
    if let refusal = evidence.refusal {
      return end(.stopped, now, "ingest refused a request of it: \(refusal)")
    }
    if let reason = problem(evidence) { return end(.stopped, now, reason) }
    switch progress.state {
    case .scheduled where now >= plan.startAt && !control.isPaused: become(.running)
    case .running where pages.isEmpty && !isAsking: settle(now)
    case .trial where !control.isPaused: judge(now, evidence)
    default: break
    }
  }

  /// Everything that was read has been addressed.
  private mutating func settle(_ now: Int64) {
    guard let total = progress.total else { return }
    if hasReadAll {
      guard let waves, waves.count > 1 else { return end(.done, now, nil) }
      enter(waves.dropFirst())
    }
    guard let trial = trialDevices(total), progress.addressed >= trial else { return }
    progress.trialEndedAt = now
    become(.trial)
  }

  private mutating func judge(_ now: Int64, _ evidence: CampaignEvidence) {
    if let ended = progress.trialEndedAt, now < ended - Self.clockDifference {
      // A clock that was ahead has set this time: the wait begins now.
      (progress.trialEndedAt, record.isDirty) = (now, true)
    }
    guard let trial = plan.trial, let ended = progress.trialEndedAt, now >= ended + trial.wait,
      Double(evidence.devices.outcomes) >= Self.evidence * Double(progress.addressed)
    else { return }
    if let reason = evidence.problem(plan.limits) { return end(.stopped, now, reason) }
    become(.running)
  }

  /// Why it stops before it would be judged: too many bad outcomes already, whatever becomes of the others.
  private func problem(_ evidence: CampaignEvidence) -> String? {
    var least = Self.leastOutcomes
    if let total = progress.total, let trial = plan.trial { least = trial.devices(of: total) }
    return evidence.problem(plan.limits, least: least)
  }

  /// Pages that are not handed to Kafka are left; those that are end first.
  private mutating func end(_ state: CampaignProgress.State, _ now: Int64, _ reason: String?) {
    pages.removeAll { !$0.isProducing }
    isEnding = !pages.isEmpty
    guard !isEnding else { return }
    (progress.endedAt, progress.reason) = (now, reason)
    become(state)
  }

  private mutating func become(_ state: CampaignProgress.State) {
    progress.state = state
    record.isDirty = true
  }
}
