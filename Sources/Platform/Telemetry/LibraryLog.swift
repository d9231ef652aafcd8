// SPDX-License-Identifier: Apache-2.0

/// The treatment of the log messages of a library below us: they come one level below our own, for we say by ourselves
/// what an operator has to know; a message that repeats itself is counted, and a subject that has much to say is cut
/// short.
public struct LibraryLog: Sendable {
  /// Lines about one subject that are let through in `interval`.
  public static let most = 5
  /// Milliseconds.
  public static let interval: UInt64 = 10_000
  /// Subjects that are told apart; further ones count as one.
  public static let subjects = 64

  private struct Window {
    var begun: UInt64
    var lines = 0
    var dropped = 0
  }

  /// The least important lines that are shown.
  public var level: LogLevel
  private var windows: [String: Window] = [:]
  private var repeated = RepeatedMessages()

  public init(level: LogLevel = .info) { self.level = level }

  /// The level of a message by its syslog severity (RFC 5424: 0 to 7): errors come as warnings, warnings as
  /// information, and everything below for debugging.
  public static func level(of severity: Int32) -> LogLevel {
    switch severity {
    case ...3: .warning
    case 4: .info
    default: .debug
    }
  }

  /// Decides whether a message is shown.
  ///
  /// - Returns: how many about the same subject were left out before it; `nil` if it is left out.
  public mutating func admit(
    severity: Int32, subject: String, message: String, now: UInt64
  ) -> Int? {
    guard Self.level(of: severity) >= level,
      let more = repeated.admit(message, now: now)
    else { return nil }
    return admit(subject, more, now: now)
  }

  /// The repeated messages that have ended since the last call, and the subjects that were cut short and have no more to
  /// say.
  public mutating func drainEnded(now: UInt64) -> [RepeatedMessages.Ended] {
    var ended = repeated.drainEnded(now: now)
    for (subject, window) in windows.sorted(by: { $0.key < $1.key })
    where window.dropped > 0 && now >= window.begun + RepeatedMessages.quiet {
      windows[subject]?.dropped = 0
      ended.append(
        RepeatedMessages.Ended(
          text: "others about \(subject.isEmpty ? "other subjects" : subject)",
          more: window.dropped, milliseconds: now - window.begun))
    }
    return ended
  }

  /// - Parameter more: those of the message that were not shown before it.
  private mutating func admit(_ subject: String, _ more: Int, now: UInt64) -> Int? {
    let isKnown = windows[subject] != nil || windows.count < Self.subjects
    let name = isKnown ? subject : ""
    var window = windows[name] ?? Window(begun: now)
    defer { windows[name] = window }
    let dropped = window.dropped
    if now >= window.begun + Self.interval { window = Window(begun: now, dropped: dropped) }
    guard window.lines < Self.most else {
      window.dropped += more + 1
      return nil
    }
    window.lines += 1
    window.dropped = 0
    return dropped + more
  }
}
