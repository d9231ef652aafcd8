// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit

/// Reports the edition of the time zone database that campaigns by local time use.
enum ZoneNotice {
  /// For `--check`.
  static func finding() -> Finding {
    let (edition, now) = (ZoneFile.edition(), WallClock.milliseconds())
    return ZoneFindings.data(
      named: edition?.name, in: ZoneFile.folder,
      days: edition?.age(at: now).map { $0 / 86_400_000 },
      isOld: edition?.isOld(at: now) ?? false, outdated: edition?.outdated ?? [])
  }

  /// For the log, when a campaign's zones were looked up.
  static func tell(_ campaign: String, _ zones: AudienceWorker.Zones, _ context: ServiceContext) {
    guard let edition = ZoneFile.edition() else { return }
    let now = WallClock.milliseconds()
    context.log(
      SchedulerLog.localTime,
      ["campaign": campaign, "waves": "\(zones.waves.count)", "zones": edition.name])
    if edition.isOld(at: now) {
      context.log(
        SchedulerLog.zonesOld,
        [
          "zones": edition.name, "outdated": edition.outdated.joined(separator: ", "),
          "days": edition.age(at: now).map { "\($0 / 86_400_000)" } ?? "unknown",
        ])
    }
    guard zones.devicesWithoutZone > 0 else { return }
    context.log(
      SchedulerLog.zonesUnknown,
      [
        "campaign": campaign, "devices": "\(zones.devicesWithoutZone)",
        "zones": zones.unknown.prefix(10).joined(separator: ", "),
      ])
  }
}
