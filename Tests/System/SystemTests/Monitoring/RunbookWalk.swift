// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records

/// The way from an alert to its cause that docs/runbook.md describes, followed to the letter.
struct RunbookWalk {
  struct Row {
    let fault: String
    let isPage: Bool
    let alert: String
    /// Labels of the alert; nil where only its presence counts.
    let labels: [(name: String, value: String?)]
    let canary: String
    /// The program whose log has the words; nil where the row says "that instance".
    let program: String?
    let words: [String]
  }

  let rows: [Row]

  /// - Parameter page: the text of docs/runbook.md.
  init(page: String) {
    let table = page.components(after: "## Faults and their alerts")
    rows = table.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).compactMap {
      Self.row($0.split(separator: "|").map { $0.trimmed })
    }
  }

  private static func row(_ cells: [Substring]) -> Row? {
    guard cells.count >= 5 else { return nil }
    let alert = cells[2].prefix { $0.isLetter }
    let labels = code(in: cells[2].prefix { $0 != ";" }).map { label in
      let parts = label.split(separator: "=", maxSplits: 1)
      return (
        name: String(parts[0]),
        value: parts.count > 1 ? String(parts[1].filter { $0 != "\"" }) : nil
      )
    }
    let log = cells[4].firstMatch(of: #/(?:the |^)([a-z]+)'s log/#)
    let isInstance = cells[4].hasPrefix("the log of that instance")
    return Row(
      fault: String(cells[0]), isPage: cells[1] == "page", alert: String(alert), labels: labels,
      canary: String(cells[3]), program: log.map { "martlet-\($0.1)" },
      words: log != nil || isInstance ? code(in: cells[4]) : [])
  }

  private static func code(in text: Substring) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  /// The faults that the screens of a record leave: one if the runbook is good.
  func faults(in record: JSONValue) -> [String] {
    let left = rows.filter { isTrue($0, record) }
    let pages = left.filter(\.isPage)
    let urgent = pages.isEmpty ? left : pages
    let named = urgent.filter { !$0.words.isEmpty }
    return (named.isEmpty ? urgent : named).map(\.fault)
  }

  private func isTrue(_ row: Row, _ record: JSONValue) -> Bool {
    guard record["canary"]?.string == row.canary else { return false }
    return (record["alerts"]?.array ?? []).contains { alert in
      guard alert["alertname"]?.string == row.alert else { return false }
      let hasLabels = row.labels.allSatisfy { label in
        guard let value = alert[label.name]?.string else { return false }
        return label.value == nil || label.value == value
      }
      let instance = alert["instance"]?.string?.prefix { $0 != ":" }
      let program = row.program ?? String(instance ?? "")
      let log = (record["logs"]?[program]?.array ?? []).compactMap(\.string)
      return hasLabels && row.words.allSatisfy { words in log.contains { $0.contains(words) } }
    }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = self.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }
}

extension String {
  /// What follows these words; nothing without them.
  fileprivate func components(after words: String) -> Substring {
    firstRange(of: words).map { self[$0.upperBound...] } ?? ""
  }
}
