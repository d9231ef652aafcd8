// SPDX-License-Identifier: Apache-2.0
public import Faults
import JSON

/// The profiles as text: for `--profiles`, the documentation and the admin port.
public enum ProfileReport {
  /// Markdown: a row for each profile.
  public static var text: String {
    let rows = GatewayProfile.all.map { profile in
      "| `\(profile.name)` | \(profile.does.trimmingDot) | \(profile.catches) | \(parts(of: profile)) |"
    }
    return ([header, "|---|---|---|---|"] + rows).joined(separator: "\n") + "\n"
  }

  /// The first line of the table.
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

  /// The same for a program; a profile's `faults` is a list that `POST /faults` takes.
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
  /// Without the dot of a sentence: rows of a table have none.
  fileprivate var trimmingDot: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension GatewayProfile {
  /// The rules of its faults.
  ///
  /// - Throws: what is wrong in a declaration; tests read all of them.
  public func faultRules() throws -> [FaultRule] {
    let values = try rules.map { try JSONDocument($0).root }
    var read = try FaultScript(.array(values)).rules
    for index in read.indices { read[index].profile = name }
    return read
  }
}
