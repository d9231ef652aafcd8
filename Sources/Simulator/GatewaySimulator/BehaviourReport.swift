// SPDX-License-Identifier: Apache-2.0
import GatewayModel

/// The table of behaviours as text, for `--behaviours` and the admin API.
public enum BehaviourReport {
  /// The header row of the table.
  public static let header = "| behaviour | known from | default | values | what it is |"

  /// The table as Markdown, one row per behaviour.
  public static var text: String {
    var lines = [header, "|---|---|---|---|---|"]
    for behaviour in Behaviour.table {
      let name = behaviour.isSwitch ? "`\(behaviour.name)`" : behaviour.name
      let standard = behaviour.isSwitch ? "`\(behaviour.standard)`" : behaviour.standard
      lines.append(
        "| \(name) | \(behaviour.mark.rawValue) | \(standard) | \(behaviour.values)"
          + " | \(behaviour.meaning) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
