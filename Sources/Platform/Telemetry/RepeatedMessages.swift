// SPDX-License-Identifier: Apache-2.0

/// Messages that arrive again and again, such as every client's about a broker that is down: the first is shown, the
/// others are counted, and the count is shown with the next after a while, or when they have ended.
public struct RepeatedMessages: Sendable {
  /// A message that has come no more.
  public struct Ended: Sendable, Equatable {
    public let text: String
    /// The number that were not shown since the last that was.
    public let more: Int
    /// Since that one, in milliseconds.
    public let milliseconds: UInt64
  }

  /// Between two that are shown, in milliseconds.
  public static let interval: UInt64 = 30_000
  /// After so many milliseconds without another it has ended. Longer than the 30 s for which librdkafka keeps the same
  /// failure of a broker to itself (`identical error(s) suppressed`).
  public static let quiet: UInt64 = 35_000
  /// Different messages that are told apart; further ones are all shown.
  public static let most = 64

  private struct Message {
    var shownAt: UInt64
    var lastAt: UInt64
    var more = 0
    var wasRepeated = false
  }

  private var messages: [String: Message] = [:]

  public init() {}

  /// Decides whether a message is shown.
  ///
  /// - Returns: how many were not shown since the last one; nil if it is not shown.
  public mutating func admit(_ text: String, now: UInt64) -> Int? {
    let key = Self.essence(of: text)
    guard var message = messages[key] else {
      if messages.count < Self.most { messages[key] = Message(shownAt: now, lastAt: now) }
      return 0
    }
    defer { messages[key] = message }
    message.lastAt = now
    message.wasRepeated = true
    guard now >= message.shownAt + Self.interval else {
      message.more += 1
      return nil
    }
    defer { message.more = 0 }
    message.shownAt = now
    return message.more
  }

  /// The repeated messages that have ended since the last call, in alphabetical order.
  public mutating func drainEnded(now: UInt64) -> [Ended] {
    guard !messages.isEmpty else { return [] }
    let over = messages.filter { now >= $0.value.lastAt + Self.quiet }
    for key in over.keys { messages[key] = nil }
    return over.filter(\.value.wasRepeated).sorted { $0.key < $1.key }.map { key, message in
      Ended(text: key, more: message.more, milliseconds: now - message.shownAt)
    }
  }

  /// The text without what differs between two of librdkafka's messages about one broker: its thread in front, and the
  /// times and counts in brackets at the end.
  static func essence(of text: String) -> String {
    var essence = text[...]
    if essence.hasPrefix("[thrd:"), let end = essence.firstRange(of: "]: ") {
      essence = essence[end.upperBound...]
    }
    while essence.hasSuffix(")"), let start = opening(in: essence) {
      essence = essence[..<start]
    }
    return String(essence)
  }

  /// The blank before the last bracket that opens behind one.
  private static func opening(in text: Substring) -> Substring.Index? {
    text.indices.dropLast().last { text[$0] == " " && text[text.index(after: $0)] == "(" }
  }
}
