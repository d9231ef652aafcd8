// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import Telemetry

/// The status of a campaign, for people and programs.
extension CampaignRecord {
  /// The campaign in a record's value from a database; nil if it cannot be read.
  public init?(stored value: String) {
    var text = value
    let campaign = text.withUTF8 { bytes in
      try? CampaignRecord(UnsafeRawBufferPointer(bytes), parser: JSONParser())
    }
    guard let campaign else { return nil }
    self = campaign
  }

  /// Its outcomes without those of repeated notifications.
  public var ended: Int { outcomes.ended }

  /// Addressed devices without an outcome, as far as counted: their pushes may still be sent.
  public var unsent: Int { max(0, progress.addressed - outcomes.total) }

  /// Whether it can still be controlled: it is not over, or some of its pushes may still be sent.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func isUnderWay(now: Int64) -> Bool {
    switch progress.state {
    case .scheduled, .running, .trial: true
    case .done: unsent > 0 && now <= (progress.endedAt ?? now) + CampaignProgress.countedAfterEnd
    case .cancelled, .stopped: false
    }
  }

  /// Percent of the outcomes that are rejections, with one decimal; nil without an outcome.
  public var rejectedPercent: Double? {
    guard ended > 0 else { return nil }
    return (Double(outcomes[.rejected]) / Double(ended) * 1_000).rounded() / 10
  }

  /// Its current rates.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func currentRates(now: Int64) -> CampaignRates {
    rates?.current(now: now) ?? CampaignRates(at: now, addressed: 0, outcomes: 0)
  }

  /// Seconds until every device has its outcome; nil if nothing moves.
  public func secondsLeft(now: Int64) -> Int? {
    currentRates(now: now).secondsLeft(progress, outcomes: ended)
  }

  /// A warning for its author if its pace is too slow for the expiration of its pushes; nil if it is not.
  ///
  /// - Parameters:
  ///   - devices: the devices of its audience.
  ///   - pace: the pushes per millisecond.
  public func expiryNote(devices: Int, perMillisecond pace: Double) -> String? {
    let time = Double(devices) / pace
    guard time.isFinite, time < 1e15 else { return nil }
    let course = "at its pace its \(devices) devices take \(Self.duration(time))"
    let times = 1...RequestRules.timeLimit - 1
    if let expiration = request.given(RequestField.expiration.name)?.int(times),
      Double(plan.startAt) + time > Double(expiration) * 1_000
    {
      return "\(course): the last of its pushes come after their expiration, and end as expired"
    }
    let durations = 1...RequestRules.maximumExpiresIn
    guard let seconds = request.given(RequestField.expiresIn.name)?.int(durations),
      time > Double(seconds) * 1_000
    else { return nil }
    let lead = CampaignProgress.leadSeconds
    return seconds <= lead
      ? "\(course): it addresses them up to \(lead) s ahead, and expires_in is \(seconds) s: some expire before their turn"
      : "\(course), and expires_in is \(seconds) s: it counts from when a device is addressed, up to \(lead) s before its turn"
  }

  /// `2 h 5 min`, `5 min`, `40 s`.
  private static func duration(_ milliseconds: Double) -> String {
    let seconds = Int((milliseconds / 1_000).rounded(.up))
    if seconds < 120 { return "\(seconds) s" }
    let minutes = (seconds + 59) / 60
    return minutes < 120 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
  }

  /// The campaign as its author described it, without the request, and its progress.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isPaused: the last control, if known; nil for the state recorded by the scheduler.
  public func standing(now: Int64, isPaused: Bool?) -> JSONObject {
    var object = JSONObject()
    object.append("campaign", .string(name))
    object.append("app", .string(audience.app))
    object.append("environment", .string(audience.environment.description))
    object.append("state", .string(progress.state.rawValue))
    object.append("paused", .bool(isPaused ?? progress.isPaused))
    let others = ["campaign", "request", "progress", "outcomes", "rates"]
    object.members += summary.members.filter { !others.contains($0.key) }
    if let wave = progress.wave {
      object.append("wave", .string(Timestamp.text(milliseconds: wave)))
    }
    if let total = progress.total { object.append("total", .integer(Int64(total))) }
    object.append("addressed", .integer(Int64(progress.addressed)))
    object.append("without_outcome", .integer(Int64(unsent)))
    object.append("outcomes", .object(outcomesObject))
    if let percent = rejectedPercent { object.append("rejected_percent", .double(percent)) }
    let rates = currentRates(now: now)
    object.append("addressed_per_second", .double(rates.addressed))
    object.append("outcomes_per_second", .double(rates.outcomes))
    if let left = secondsLeft(now: now) { object.append("seconds_left", .integer(Int64(left))) }
    if let time = progress.endedAt { object.append("ended_at", .integer(time)) }
    if let reason = progress.reason { object.append("reason", .string(reason)) }
    if let note = progress.note { object.append("note", .string(note)) }
    return object
  }
}
