// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The state machine of one campaign, in the process that owns it: when its audience is counted and read, which devices
/// are addressed, when its progress is saved, and when it stops itself. Events and times in, actions out. Times are
/// milliseconds since the epoch.
///
/// Devices are addressed page by page, in token order; a campaign by local time runs in waves, one after the other. Its
/// record names the last token addressed and is written after Kafka has acknowledged the requests, so a crash repeats
/// at most `mostUnsaved` pages, with the same ids.
///
/// With a pace, only as many devices are addressed as can be pushed within half a minute (`CampaignAhead`), and a page
/// is read from the database shortly before it is needed. After a pause, pages not yet addressed are read again.
public struct CampaignMachine: Sendable {
  public enum Action: Equatable, Sendable {
    /// Set the pace of the campaign's requests, or remove it; ends with `paced` or `paceFailed`.
    case setPace(isSet: Bool)
    /// Count the audience; ends with `counted` or `unanswered`.
    case count
    /// Determine the waves of the audience; ends with `found` or `unanswered`.
    case findWaves
    /// Read devices of the audience after this position (`CampaignProgress.cursor`), by local time only those of the
    /// current wave. Ends with `read` or `unanswered`.
    case read(after: String, limit: Int)
    /// Write the requests of a page that was read; ends with `produced` or `postponed`.
    case produce(page: Int)
    /// Save the progress; ends with `saved`.
    case save(CampaignProgress)
    /// Remove the campaign's record. Final, unless `forgetFailed` follows.
    case forget
  }

  /// The most devices addressed but without an outcome at a pace, in pushes per millisecond.
  public static func mostAhead(_ pace: Double) -> Int { CampaignAhead.most(pace) }

  /// The state of the campaign's record: last acknowledged, and in flight.
  private struct Record: Sendable {
    var isDirty = false
    var isSaving = false
    /// Pages acknowledged by Kafka but not yet in a saved record, and those that the record in flight covers.
    var unsavedPages = 0
    var savingPages = 0
    /// Devices counted as addressed in the last record, and in the one in flight.
    var devices: Int
    var savingDevices = 0
  }

  /// The most pages handed to Kafka that no record covers yet.
  public static var mostUnsaved: Int { 10 }
  /// The share of the trial's outcomes that must be known before the trial is judged.
  static var evidence: Double { 0.9 }
  /// Without a trial, bad outcomes stop a campaign only from this number of outcomes on.
  static var leastOutcomes: Int { 100 }
  /// Clocks are assumed to differ by less than this.
  static var clockDifference: Int64 { 1_000 }
  /// The delay before an unanswered question is asked again.
  static var pause: Int64 { 1_000 }
  /// The time until senders know a new pace; the first page waits for it.
  static var paceLead: Int64 { 1_000 }
  /// A page not addressed within this time is read again: its devices may have changed.
  static var shelfLife: Int64 { 30_000 }
  /// How long a finished campaign is kept; its name cannot be reused meanwhile.
  static var kept: Int64 { 30 * 86_400_000 }

  public let plan: CampaignPlan
  private let pageSize: Int
  /// The current progress; the saved record may be behind.
  public private(set) var progress: CampaignProgress
  public var control = CampaignControl()
  /// The pace of the campaign's requests, in pushes per millisecond: its own, or as changed by operators; nil for none.
  public var pace: Double?
  /// Whether the campaign may set its pace: its app has not reached the limit of paces.
  public var maySetPace = true
  /// Whether the audience does not change after it was counted: the tokens of a topic.
  public var isFixed = false
  private var ahead = CampaignAhead()
  private var pages = CampaignPages()
  private var record: Record
  private var isAsking = false
  /// The answer to the pending question predates a pause.
  private var isOutdated = false
  /// Whether the whole audience, or the current wave, has been read.
  private var hasReadAll = false
  /// The start times of the remaining waves, in order; nil until known.
  private var waves: [Int64]?
  private var askNotBefore = Int64.min
  /// Whether a pace is being set (true) or removed.
  private var pacing: Bool?
  private var produceNotBefore = Int64.min
  private var isForgotten = false
  private var isDraining = false
  /// How the campaign ends once Kafka has acknowledged the pages in flight; nil while it goes on.
  private var ending: (state: CampaignProgress.State, reason: String?)?

  /// - Parameter progress: the progress in the campaign's record.
  public init(_ plan: CampaignPlan, _ progress: CampaignProgress, pageSize: Int) {
    (self.plan, self.progress, self.pageSize) = (plan, progress, pageSize)
    record = Record(devices: progress.addressed)
  }

  /// Whether nothing of the campaign is in flight to Kafka.
  public var isIdle: Bool {
    !record.isSaving && !record.isDirty && pacing == nil && pages.producing.pages == 0
  }

  /// Starts nothing new.
  public mutating func drain() { isDraining = true }

  // MARK: Events

  /// - Parameter start: the position before the first device.
  public mutating func counted(_ total: Int, start: String = "") {
    (isAsking, isOutdated) = (false, false)
    (progress.total, progress.cursor) = (total, start)
    record.isDirty = true
  }

  /// The waves of the audience by start time. A new owner continues with the wave in the progress, or with an earlier
  /// one whose time is still to come: that of a zone which no device had before.
  public mutating func found(waves: [Int64], now: Int64) {
    (isAsking, isOutdated) = (false, false)
    let over = now + Self.clockDifference
    enter(waves.sorted().drop { $0 < progress.wave ?? .min && $0 <= over })
  }

  /// Makes the first of these waves the current one.
  private mutating func enter(_ left: ArraySlice<Int64>) {
    (waves, hasReadAll) = (Array(left), left.isEmpty)
    guard let wave = left.first, wave != progress.wave else { return }
    // The first one begins at the position that counting found: that of a topic of tokens is not empty.
    if progress.wave != nil { progress.cursor = "" }
    progress.wave = wave
    record.isDirty = true
  }

  /// The answer to `read`.
  ///
  /// - Parameters:
  ///   - count: the number of devices in the page; fewer than `limit` means the last page.
  ///   - last: the position of the last device.
  /// - Returns: the page's number; nil if it has no devices or is no longer needed.
  public mutating func read(count: Int, last: String, limit: Int, now: Int64) -> Int? {
    defer { (isAsking, isOutdated) = (false, false) }
    guard !isOutdated else { return nil }
    hasReadAll = count < limit
    return count > 0 ? pages.add(count: count, last: last, readAt: now) : nil
  }

  /// True for a page that was read and that Kafka does not have yet; any other page is obsolete.
  public func isOpen(page number: Int) -> Bool { pages.contains(number) }

  /// Drops the pages that were not handed to Kafka; they are read again when needed.
  private mutating func discard() {
    if pages.dropWaiting() { hasReadAll = false }
    isOutdated = isAsking
  }

  /// The database does not answer.
  public mutating func unanswered(now: Int64) {
    (isAsking, isOutdated) = (false, false)
    askNotBefore = now + Self.pause
  }

  /// The Kafka producer's queue has no room for a page.
  public mutating func postponed(page number: Int) { pages.postpone(number) }

  /// Kafka has all requests of a page.
  public mutating func produced(page number: Int) {
    for page in pages.produced(number) {
      progress.cursor = page.last
      progress.addressed = min(progress.addressed + page.count, Int(CampaignProgress.most))
      record.unsavedPages += 1
      record.isDirty = true
    }
  }

  /// Kafka has acknowledged the record of `save`.
  public mutating func saved() {
    record.isSaving = false
    record.unsavedPages -= record.savingPages
    record.devices = record.savingDevices
  }

  /// The record could not be written now.
  public mutating func saveFailed() {
    (record.isSaving, record.isDirty) = (false, true)
    progress.revision -= 1
    (record.savingPages, record.savingDevices) = (0, record.devices)
  }

  /// Kafka has acknowledged the pace, or its removal.
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

  /// The campaign's record could not be removed now.
  public mutating func forgetFailed() { isForgotten = false }

  /// Marks the record as changed by something other than progress.
  public mutating func touch() { record.isDirty = true }

  /// Sets or clears the note to the campaign's author.
  public mutating func tell(_ note: String?) {
    guard note != progress.note else { return }
    progress.note = note
    record.isDirty = true
  }

  // MARK: Steps

  /// The next action; nil when there is none now. Call it every turn until it returns nil.
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
    guard ending == nil, pacing == nil else { return nil }
    if plan.hasPace, !progress.hasSetPace {
      guard maySetPace else { return nil }
      pacing = true
      return .setPace(isSet: true)
    }
    guard progress.state == .running, !control.isPaused else { return nil }
    // `produceNotBefore` may come from a clock that was ahead.
    if now >= produceNotBefore || now < produceNotBefore - Self.paceLead,
      let page = pages.waiting, mayProduce(page)
    {
      pages.produce(page.number)
      return .produce(page: page.number)
    }
    return question(now, evidence)
  }

  /// With a pace, limits what a crash repeats to one page, or a tenth of the devices that may be without an outcome.
  private func mayProduce(_ page: CampaignPages.Page) -> Bool {
    let producing = pages.producing
    guard record.unsavedPages + producing.pages < Self.mostUnsaved else { return false }
    let unsaved = progress.addressed - record.devices + producing.devices
    guard let pace, unsaved > 0 else { return true }
    return unsaved + page.count <= CampaignAhead.page(pace, atMost: .max)
  }

  /// Applies the current control and outcomes, and drops pages that are too old.
  private mutating func follow(_ now: Int64, _ evidence: CampaignEvidence) {
    let isPaused = control.isPaused && isUnderWay(now, evidence)
    if isPaused != progress.isPaused {
      (progress.isPaused, record.isDirty) = (isPaused, true)
      if isPaused { discard() }
    }
    if let page = pages.waiting, abs(now - page.readAt) > Self.shelfLife { discard() }
    guard let pace else { return }
    if ahead.isTooFar(planned: planned, ended: evidence.ended, pace) { discard() }
    ahead.note(
      planned: planned, ended: evidence.ended, pace,
      isHeld: isPaused || progress.state != .running, now: now)
  }

  /// Devices addressed or in pages about to be.
  private var planned: Int { progress.addressed + pages.devices }

  /// Whether pushes of the campaign may still be sent, as far as is known.
  public func isUnderWay(_ now: Int64, _ evidence: CampaignEvidence) -> Bool {
    switch progress.state {
    case .scheduled, .running, .trial: true
    case .done:
      evidence.ended < progress.addressed
        && now <= (progress.endedAt ?? now) + CampaignProgress.countedAfterEnd
    case .cancelled, .stopped: false
    }
  }

  /// Removes the pace once every push has an outcome, and the record long after the campaign's end.
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
    // `askNotBefore` may come from a clock that was ahead.
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
    return .read(after: pages.last ?? progress.cursor, limit: limit)
  }

  /// The number of devices in the trial; nil once it is over or without one.
  private func trialDevices(_ total: Int) -> Int? {
    progress.trialEndedAt == nil ? plan.trial?.devices(of: total) : nil
  }

  private mutating func decide(_ now: Int64, _ evidence: CampaignEvidence) {
    guard isUnderWay(now, evidence) else { return }
    // Later outcomes may be within the limits again. Pages were dropped: it cannot go on as if nothing had been decided.
    if let ending { return end(ending.state, now, ending.reason) }
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

  /// Everything that was read has been addressed: ends the campaign, the wave or the trial's sending.
  private mutating func settle(_ now: Int64) {
    guard let total = progress.total else { return }
    if hasReadAll {
      guard let waves, waves.count > 1 else { return end(.done, now, shortfall(total)) }
      enter(waves.dropFirst())
    }
    guard let trial = trialDevices(total), progress.addressed >= trial else { return }
    progress.trialEndedAt = now
    become(.trial)
  }

  /// Why fewer devices are addressed than were counted; nil if they are not, or the audience may have changed.
  private func shortfall(_ total: Int) -> String? {
    let gone = total - progress.addressed
    guard isFixed, gone > 0 else { return nil }
    return "\(gone) of its \(total) device tokens were gone from their topic before their turn:"
      + " its retention.ms or retention.bytes does not keep them for that long, it is compacted, or it"
      + " was made anew"
  }

  private mutating func judge(_ now: Int64, _ evidence: CampaignEvidence) {
    if let ended = progress.trialEndedAt, now < ended - Self.clockDifference {
      // The saved time is from a clock that was ahead: restart the wait now.
      (progress.trialEndedAt, record.isDirty) = (now, true)
    }
    let devices = progress.addressed - evidence.repeated
    guard let trial = plan.trial, let ended = progress.trialEndedAt, now >= ended + trial.wait,
      Double(evidence.devices.outcomes) >= Self.evidence * Double(devices)
    else { return }
    if let reason = evidence.problem(plan.limits) { return end(.stopped, now, reason) }
    become(.running)
  }

  /// The reason to stop before all outcomes are in: the bad ones already exceed a limit, counted against at least
  /// `least`.
  private func problem(_ evidence: CampaignEvidence) -> String? {
    var least = Self.leastOutcomes
    if let total = progress.total, let trial = plan.trial { least = trial.devices(of: total) }
    return evidence.problem(plan.limits, least: least)
  }

  /// Drops the pages not handed to Kafka, and waits for those in flight before the campaign ends.
  private mutating func end(_ state: CampaignProgress.State, _ now: Int64, _ reason: String?) {
    pages.dropWaiting()
    ending = pages.isEmpty ? nil : (state, reason)
    guard pages.isEmpty else { return }
    (progress.endedAt, progress.reason) = (now, reason)
    become(state)
  }

  private mutating func become(_ state: CampaignProgress.State) {
    progress.state = state
    record.isDirty = true
  }
}
