// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// The progress of a long piece of work, on standard error: a bar that is redrawn on a terminal, a plain line every
/// five seconds elsewhere.
public struct ProgressLine {
  private let title: String
  private let unit: String
  /// Of the first update: what was prepared before is no part of the work.
  private var startedAt: UInt64?
  private let isTerminal = StandardError.isTerminal
  private let interval: UInt64
  private var nextAt: UInt64 = 0
  private var isDrawn = false
  /// The work stands, and the time that it has stood so far, in milliseconds.
  private var isStanding = false
  private var stood: UInt64 = 0

  /// - Parameter unit: what is counted, in the plural.
  public init(_ title: String, unit: String) {
    self.title = title
    self.unit = unit
    interval = isTerminal ? 100 : 5_000
  }

  /// Shows where the work stands, if it is time.
  ///
  /// - Parameter fraction: how much is done, 0…1; nil when it is unknown.
  public mutating func update(count: Int, fraction: Double?, note: String = "") {
    let now = MonotonicClock.milliseconds()
    guard let startedAt else {
      (startedAt, nextAt) = (now, now + interval)
      return
    }
    guard now >= nextAt else { return }
    nextAt = now + interval
    let text = Self.text(
      title, unit, count: count, fraction: fraction, milliseconds: now - startedAt,
      stood: isStanding ? nil : stood, note: note)
    if isTerminal {
      // Back to the line's start; clear what the last, longer line left.
      StandardError.write("\r\(Self.cut(text, to: Self.columns))\u{1B}[K")
      isDrawn = true
    } else {
      StandardError.line(text)
    }
  }

  /// The work stands: no time left is shown.
  ///
  /// - Parameter stood: for how long it has so far, in milliseconds.
  public mutating func stand(for stood: UInt64) { (isStanding, self.stood) = (true, stood) }

  /// The work goes on: what it stood says nothing of the time left.
  public mutating func goOn(after stood: UInt64) { (isStanding, self.stood) = (false, stood) }

  /// Ends a drawn line, so that what follows stands on its own.
  public mutating func end() {
    if isDrawn { StandardError.write("\r\u{1B}[K") }
    isDrawn = false
  }

  /// The columns of the terminal that standard error is; nil if it does not say.
  private static var columns: Int? {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// What fits into one line: a longer one would wrap, and only its last part would be drawn again.
  static func cut(_ text: String, to columns: Int?) -> String {
    guard let columns, text.count >= columns else { return text }
    return text.prefix(max(0, columns - 2)) + "…"
  }

  static func text(
    _ title: String, _ unit: String, count: Int, fraction: Double?, milliseconds: UInt64,
    stood: UInt64? = 0, note: String
  ) -> String {
    let rate = milliseconds > 0 ? count * 1_000 / Int(milliseconds) : 0
    var text = title
    if let fraction {
      let done = min(max(fraction, 0), 1)
      let cells = Int(done * 20)
      text += " [" + String(repeating: "#", count: cells)
      text += String(repeating: ".", count: 20 - cells) + "] \(Int(done * 100)) %"
    }
    text += "  \(count) \(unit)  \(rate)/s"
    if let fraction, fraction > 0.001, fraction < 1, let stood {
      let worked = Double(milliseconds - min(stood, milliseconds))
      let left = Int((worked / fraction - worked) / 1_000 + 0.5)
      // What is waited for takes as long as it takes: "0s left" would be said for all that time.
      if left > 0 { text += "  \(clock(left)) left" }
    }
    return note.isEmpty ? text : text + "  (\(note))"
  }

  /// `3s`, `2m05s`, `1h02m`
  private static func clock(_ seconds: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    if seconds < 60 { return "\(seconds)s" }
    if seconds < 3_600 { return "\(seconds / 60)m\(two(seconds % 60))s" }
    return "\(seconds / 3_600)h\(two(seconds / 60 % 60))m"
  }
}
