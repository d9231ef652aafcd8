// SPDX-License-Identifier: Apache-2.0
import Settings
import Telemetry

extension SettingValues {
  /// The moment that the text of a setting names, in milliseconds since the epoch.
  func moment(_ name: String, _ text: String, now: Int64) throws(SettingErrors) -> Int64 {
    guard let moment = MomentText.milliseconds(of: text, now: now) else {
      throw error(name, "\"\(text)\" is not \(MomentText.forms)")
    }
    return moment
  }
}

/// Parses a time as an operator writes it: `2026-11-21T04:00:00Z`, `2026-11-21`, or a duration before now such as `2h`.
enum MomentText {
  static let forms = "a time such as 2026-11-21T04:00:00Z, a date, or a time span ago such as 2h"

  /// Returns milliseconds since the epoch, or nil for any other text.
  static func milliseconds(of text: String, now: Int64) -> Int64? {
    if let span = DurationText.milliseconds(of: text) { return now - span }
    let parts = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
    guard let day = Timestamp.days(parts[0], firstYear: 0) else { return nil }
    guard parts.count == 2 else { return day * 86_400_000 }
    guard parts[1].hasSuffix("Z"), let time = time(parts[1].dropLast()) else { return nil }
    return day * 86_400_000 + time
  }

  private static func numbers(_ text: Substring, _ separator: Character) -> [Int64]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    let values = parts.compactMap { part -> Int64? in
      part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(part) : nil
    }
    return values.count == parts.count ? values : nil
  }

  /// Parses `hh:mm`, `hh:mm:ss` or `hh:mm:ss.mmm` to milliseconds.
  private static func time(_ text: Substring) -> Int64? {
    let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let clock = numbers(halves[0], ":"), clock.count == 2 || clock.count == 3 else {
      return nil
    }
    let seconds = clock.count == 3 ? clock[2] : 0
    guard clock[0] < 24, clock[1] < 60, seconds < 60 else { return nil }
    var milliseconds: Int64 = 0
    if halves.count == 2 {
      guard halves[1].utf8.count == 3, let part = numbers(halves[1], ":")?.first else { return nil }
      milliseconds = part
    }
    return (clock[0] * 3_600 + clock[1] * 60 + seconds) * 1_000 + milliseconds
  }
}
