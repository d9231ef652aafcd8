// SPDX-License-Identifier: Apache-2.0

/// Findings about the time zone database, by which campaigns go that have a local time.
public enum ZoneFindings {
  private static let remedy =
    "install the newest tzdata (apt-get update && apt-get install --only-upgrade tzdata; in a container a newer image);"
    + " nothing has to be started again"

  /// - Parameters:
  ///   - name: as `tzdata 2026b`; nil if there is no database.
  ///   - days: its age in days at least; nil if that is not known.
  ///   - isOld: it should be renewed.
  ///   - outdated: zones whose rules have changed and that go by older ones.
  public static func data(
    named name: String?, in folder: String, days: Int64?, isOld: Bool, outdated: [String]
  ) -> Finding {
    guard let name else {
      return .warning(
        .zones, folder, "there is no time zone database: campaigns by local time wait",
        remedy: "install tzdata, and tzdata-legacy where it is a package of its own")
    }
    let age = days.map { ", \($0) days old" } ?? ", of unknown age"
    guard isOld else { return .ok(.zones, folder, "\(name)\(age)") }
    return .warning(.zones, folder, "\(name)\(age): \(consequence(outdated))", remedy: remedy)
  }

  /// What an old database does.
  public static func consequence(_ outdated: [String]) -> String {
    outdated.isEmpty
      ? "where clocks have changed their rules since, local times are an hour wrong"
      : "local times are an hour wrong in \(outdated.joined(separator: ", ")), and where else rules have changed since"
  }
}
