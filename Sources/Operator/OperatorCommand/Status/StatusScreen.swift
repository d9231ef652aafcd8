// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Settings

/// Fits a status to a terminal: lines and screen are limited to its size, and problems are coloured.
struct StatusScreen {
  let rows: Int
  let columns: Int
  let isColoured: Bool

  /// The terminal's size; nil if standard output is not a terminal.
  static func ofTerminal() -> StatusScreen? {
    Terminal.size.map {
      StatusScreen(rows: $0.rows, columns: $0.columns, isColoured: Terminal.showsColours)
    }
  }

  func text(_ status: PipelineStatus) -> String {
    var lines: [String] = []
    for line in StatusText.lines(status) {
      let style = style(of: line, status.headline)
      lines += wrapped(line).map { text in style.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } ?? text }
    }
    // One row for the cursor, and one for the note that lines are missing.
    if lines.count >= rows {
      let hidden = lines.count - max(1, rows - 2)
      lines = lines.prefix(max(1, rows - 2)) + ["… \(hidden) more lines; martlet status | less"]
    }
    return lines.map { "\($0)\n" }.joined()
  }

  /// Continuation lines are indented to the text of the row, behind its title.
  private func wrapped(_ line: String) -> [String] {
    guard line.count > columns else { return [line] }
    let title = line.prefix(line.hasPrefix("! ") ? 2 : StatusText.titleWidth)
    let rest = String(line.dropFirst(title.count))
    return Paragraph.wrap(rest, indent: title.count, width: columns).enumerated().map {
      String(($0 == 0 ? title + $1.dropFirst(title.count) : $1[...]).prefix(columns))
    }
  }

  /// The parameters of the terminal's style (ECMA-48 SGR); nil for plain text.
  private func style(of line: String, _ headline: Headline) -> String? {
    guard isColoured else { return nil }
    if line.hasPrefix("! ") { return "33" }
    if line.contains("  NOT READY") || line.contains("  UNREACHABLE") { return "31" }
    guard line.hasPrefix("state ") else { return nil }
    switch headline {
    case .ready: return "1;32"
    case .degraded: return "1;33"
    case .blocked: return "1;31"
    }
  }
}
