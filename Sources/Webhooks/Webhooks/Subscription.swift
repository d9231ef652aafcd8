// SPDX-License-Identifier: Apache-2.0
public import Contract

public struct Subscription: Sendable, Equatable {
  /// The name of the endpoint in its consumer group, logs and metrics: letters, digits, `-` and `_`.
  public var name: String
  public var url: String
  /// The keys that sign its requests; more than one while a secret is being replaced.
  public var keys: [[UInt8]]
  public var kinds: Set<EventKind>
  /// nil for every app.
  public var apps: Set<ExactText>?
  /// nil for any reason, or none.
  public var reasons: Set<ExactText>?
  /// Milliseconds since the epoch; earlier events are not sent. nil to send everything that the topics still have.
  public var since: Int64?
  public var limits = BatchLimits()
  /// The timeout of an answer, in milliseconds.
  public var timeout = 15_000

  public init(name: String, url: String, keys: [[UInt8]], kinds: Set<EventKind>) {
    self.name = name
    self.url = url
    self.keys = keys
    self.kinds = kinds
  }

  /// True if the subscription includes an event.
  ///
  /// - Parameters:
  ///   - app: nil if a refused request had none; then only subscriptions to every app match.
  ///   - reason: nil for an event without one; then only subscriptions to any reason match.
  ///   - time: milliseconds since the epoch.
  public func wants(_ kind: EventKind, app: String?, reason: String?, at time: Int64) -> Bool {
    guard kinds.contains(kind), time >= since ?? .min else { return false }
    if let apps, !(app.map { apps.contains($0.exact) } ?? false) { return false }
    if let reasons, !(reason.map { reasons.contains($0.exact) } ?? false) { return false }
    return true
  }

  /// The sources of its events, in order.
  public var sources: [EventSource] {
    EventSource.allCases.filter { source in kinds.contains { $0.source == source } }
  }

  public static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

/// The limits of a request: its most events, and how long the first one waits for more.
public struct BatchLimits: Sendable, Equatable {
  public var events = 100
  /// The most bytes of events; a single event may be larger.
  public var bytes = 256 << 10
  /// In milliseconds.
  public var linger: UInt64 = 1_000
}
