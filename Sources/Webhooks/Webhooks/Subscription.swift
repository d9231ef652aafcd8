// SPDX-License-Identifier: Apache-2.0
public import Identity

/// An endpoint that wants to know of events, and of which.
public struct Subscription: Sendable, Equatable {
  /// Names the endpoint in its consumer group, in logs and metrics: letters, digits, `-` and `_`.
  public var name: String
  public var url: String
  /// The keys that its requests are signed with; more than one while a secret is replaced.
  public var keys: [[UInt8]]
  public var kinds: Set<EventKind>
  /// nil: of every app.
  public var apps: Set<ExactText>?
  /// nil: with any reason, or none.
  public var reasons: Set<ExactText>?
  /// Milliseconds since the epoch: earlier events are not sent; nil sends all that the topics still have.
  public var since: Int64?
  public var limits = BatchLimits()
  /// The time that an answer may take, in milliseconds.
  public var timeout = 15_000

  public init(name: String, url: String, keys: [[UInt8]], kinds: Set<EventKind>) {
    self.name = name
    self.url = url
    self.keys = keys
    self.kinds = kinds
  }

  /// True if the endpoint wants an event.
  ///
  /// - Parameters:
  ///   - app: nil where a refused request did not say; then only who wants every app gets it.
  ///   - reason: nil for an event without one; then only who wants any reason gets it.
  ///   - time: milliseconds since the epoch.
  public func wants(_ kind: EventKind, app: String?, reason: String?, at time: Int64) -> Bool {
    guard kinds.contains(kind), time >= since ?? .min else { return false }
    if let apps, !(app.map { apps.contains($0.exact) } ?? false) { return false }
    if let reasons, !(reason.map { reasons.contains($0.exact) } ?? false) { return false }
    return true
  }

  /// The sources that have what it wants, in their order.
  public var sources: [EventSource] {
    EventSource.allCases.filter { source in kinds.contains { $0.source == source } }
  }

  /// True if a text can be a subscription's name.
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

/// The most events of a request, and the time that the first one waits for more.
public struct BatchLimits: Sendable, Equatable {
  /// Events at most.
  public var events = 100
  /// Bytes of events at most; a single event may be larger.
  public var bytes = 256 << 10
  /// Milliseconds.
  public var linger: UInt64 = 1_000

  public init() {}
}
