// SPDX-License-Identifier: Apache-2.0
import TestSupport

/// deploy/prometheus/rules.yaml as it is, and with shorter times.
struct AlertRuleFile {
  struct Rule {
    let name: String
    let expression: String
    /// Seconds.
    let delay: Int
    /// `page` or `ticket`.
    let severity: String
  }

  let text: String
  let rules: [Rule]

  init() throws {
    text = try Repository.text("deploy/prometheus/rules.yaml")
    var rules: [Rule] = []
    for part in text.components(separatedBy: "      - alert: ").dropFirst() {
      let lines = part.split(separator: "\n").map { $0.drop { $0 == " " } }
      func value(_ key: String) -> Substring? {
        lines.first { $0.hasPrefix("\(key): ") }?.dropFirst(key.count + 2)
      }
      let end = lines.firstIndex { $0.hasPrefix("for: ") } ?? lines.endIndex
      rules.append(
        Rule(
          name: String(lines[0]), expression: lines[2..<end].joined(separator: " "),
          delay: value("for").flatMap { Self.seconds($0) } ?? 0,
          severity: String(value("severity") ?? "")))
    }
    self.rules = rules
  }

  /// With all delays and ranges divided, to two seconds at least; thresholds stay.
  func shortened(by divisor: Int) -> String {
    text.replacing(#/(for: |\[)([0-9]+[smhd])/#) { match in
      let seconds = Self.seconds(match.2) ?? 0
      return "\(match.1)\(seconds == 0 ? 0 : max(2, seconds / divisor))s"
    }
  }

  private static func seconds(_ text: Substring) -> Int? {
    guard let unit = text.last, let count = Int(text.dropLast()) else { return nil }
    let factors: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    return factors[unit].map { count * $0 }
  }
}

extension String {
  fileprivate func components(separatedBy text: String) -> [Substring] {
    var parts: [Substring] = []
    var rest = self[...]
    while let range = rest.firstRange(of: text) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
