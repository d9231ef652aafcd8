// SPDX-License-Identifier: Apache-2.0

internal import Contract
internal import Telemetry

/// Campaigns by each device's local clock.
extension CampaignRecord {
  /// The zone of devices whose zone is unknown, unless the campaign names one.
  static let defaultZone = "UTC"

  /// The start time: RFC 3339, without an offset if it is local time.
  public var startText: String {
    guard let local = plan.local else { return Timestamp.text(milliseconds: plan.startAt) }
    return String(Timestamp.text(milliseconds: local.time).dropLast())
  }

  /// The local time in `send_at`; nil if it has an offset, or is missing.
  static func localTime(
    _ fields: RecordFields, at: Int64
  ) throws(RecordError) -> CampaignPlan.LocalTime? {
    let zone = try fields.optionalText("time_zone")
    let text = fields.members.given("send_at")?.string
    guard let time = text.flatMap({ Timestamp.moment($0 + "Z") }) else {
      if zone == nil { return nil }
      // A text that is not a time in either form is a fault of its own.
      if let text, Timestamp.moment(text) == nil {
        throw fields.fail(
          "send_at", "is not a time with date, hours, minutes and seconds, as 2026-12-24T18:00:00")
      }
      throw fields.fail(
        "time_zone",
        "is for a send_at without an offset, as 2026-12-24T18:00:00: each device's local time")
    }
    let local = CampaignPlan.LocalTime(time: time, zone: zone ?? defaultZone)
    guard ZoneFile.isName(local.zone) else {
      throw fields.fail("time_zone", "is not the name of a time zone, as Europe/Berlin")
    }
    guard OutsideTime.problem(time) == nil, local.earliest >= at else {
      throw fields.fail(
        "send_at",
        "is over where clocks are furthest ahead (UTC+14): use a later local time, or one with an offset",
        .isOver)
    }
    return local
  }

  /// Throws if the zone of its local time is unknown on this host.
  public func checkZone() throws(RecordError) {
    guard let zone = plan.local?.zone, ZoneFile.rules(of: zone) == nil else { return }
    throw RecordError(
      record: "campaign", field: "time_zone",
      problem: "\(zone) is not known: name one below \(ZoneFile.folder), or install tzdata")
  }
}
