// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Contract
public import JSON
public import Schedule
internal import Telemetry

/// How a campaign stands, for people and programs that ask.
extension CampaignRecord {
  /// The campaign in the value of a record as a database keeps it; nil if it cannot be read.
  public init?(stored value: String) {
    var text = value
    let campaign = text.withUTF8 { bytes in
      try? CampaignRecord(UnsafeRawBufferPointer(bytes), parser: JSONParser())
    }
    guard let campaign else { return nil }
    self = campaign
  }

  /// Its outcomes without those of notifications that were repeated.
  public var ended: Int { outcomes.values.reduce(0, +) - (outcomes["deduplicated"] ?? 0) }

  /// Percent of the outcomes that are rejections, with one decimal; nil without an outcome.
  public var rejectedPercent: Double? {
    guard ended > 0 else { return nil }
    return (Double(outcomes["rejected"] ?? 0) / Double(ended) * 1_000).rounded() / 10
  }

  /// How fast it is.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func currentRates(now: Int64) -> CampaignRates {
    rates?.current(now: now) ?? CampaignRates(at: now, addressed: 0, outcomes: 0)
  }

  /// Seconds until every device has its outcome; nil where nothing moves.
  public func secondsLeft(now: Int64) -> Int? {
    currentRates(now: now).secondsLeft(progress, outcomes: ended)
  }

  /// Its author's words but for the request, and how far it is.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isPaused: nil where that is not known.
  public func standing(now: Int64, isPaused: Bool?) -> JSONObject {
    var object = JSONObject()
    object.append("campaign", .string(name))
    object.append("app", .string(audience.app))
    object.append("environment", .string(audience.environment.description))
    object.append("state", .string(progress.state.rawValue))
    if let isPaused { object.append("paused", .bool(isPaused)) }
    let others = ["campaign", "request", "progress", "outcomes", "rates"]
    object.members += summary.members.filter { !others.contains($0.key) }
    if let wave = progress.wave {
      object.append("wave", .string(Timestamp.text(milliseconds: wave)))
    }
    if let total = progress.total { object.append("total", .integer(Int64(total))) }
    object.append("addressed", .integer(Int64(progress.addressed)))
    let counts = outcomes.sorted { $0.key < $1.key }
    object.append(
      "outcomes",
      .object(JSONObject(counts.map { .init(key: $0.key, value: .integer(Int64($0.value))) })))
    if let percent = rejectedPercent { object.append("rejected_percent", .double(percent)) }
    let rates = currentRates(now: now)
    object.append("addressed_per_second", .double(rates.addressed))
    object.append("outcomes_per_second", .double(rates.outcomes))
    if let left = secondsLeft(now: now) { object.append("seconds_left", .integer(Int64(left))) }
    if let time = progress.endedAt { object.append("ended_at", .integer(time)) }
    if let reason = progress.reason { object.append("reason", .string(reason)) }
    return object
  }
}
