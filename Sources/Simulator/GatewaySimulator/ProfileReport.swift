// SPDX-License-Identifier: Apache-2.0
public import GatewayModel
import Records

/// The profiles as text, for `--profiles`, the documentation and the admin API.
public enum ProfileReport {
  /// The table as Markdown, one row per profile.
  public static var text: String {
    let rows = GatewayProfile.all.map { profile in
      "| `\(profile.name)` | \(profile.does.trimmingDot) | \(profile.catches) | \(parts(of: profile)) |"
    }
    return ([header, "|---|---|---|---|"] + rows).joined(separator: "\n") + "\n"
  }

  /// The header row of the table.
  public static let header =
    "| profile | what the gateway does | what this catches in clients | switches and faults |"

  private static func parts(of profile: GatewayProfile) -> String {
    let switches = profile.switches.map { "`\($0.name)`=`\($0.value)`" }
    var faults: [String] = []
    for rule in profile.rules {
      let name = (try? JSONDocument(rule).root["id"]?.string).map { "`\($0)`" } ?? rule
      if !faults.contains(name) { faults.append(name) }
    }
    return (switches + faults).joined(separator: ", ")
  }

  /// The profiles as JSON; a profile's `faults` is a list that `POST /faults` accepts.
  static var json: JSONValue {
    let profiles = GatewayProfile.all.map { profile -> JSONValue in
      var switches = JSONObject()
      for choice in profile.switches { switches.append(choice.name, .string(choice.value)) }
      return [
        "name": .string(profile.name), "does": .string(profile.does),
        "catches": .string(profile.catches), "switches": .object(switches),
        "faults": .array(profile.rules.compactMap { try? JSONDocument($0).root }),
      ]
    }
    return ["profiles": .array(profiles)]
  }
}

extension String {
  /// The text without a final dot, for rows of a table.
  fileprivate var trimmingDot: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension GatewayProfile {
  /// The rules of the profile's faults.
  ///
  /// - Throws: An error in a declaration; tests read all of them.
  public func faultRules() throws -> [FaultRule] {
    let values = try rules.map { try JSONDocument($0).root }
    var read = try FaultScript(.array(values)).rules
    for index in read.indices { read[index].profile = name }
    return read
  }
}
