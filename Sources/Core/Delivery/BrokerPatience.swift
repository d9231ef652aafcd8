// SPDX-License-Identifier: Apache-2.0

/// What a process does while its broker does not answer: it waits, says so now and then, and gives up only on
/// what no waiting heals.
package struct BrokerPatience: Sendable, Equatable {
  package enum Step: Sendable, Equatable {
    case wait
    /// Wait, and tell the operator.
    case report
    /// The broker is there and refuses us, or cannot be trusted: a setting is wrong.
    case giveUp
  }

  /// Before the first report, in milliseconds: processes and brokers that start together are no news.
  package static let quiet: UInt64 = 1_000
  /// Between two reports, in milliseconds.
  package static let interval: UInt64 = 10_000
  /// How long a refusal has to stand, in milliseconds: another broker of the cluster may answer.
  package static let doubt: UInt64 = 2_000

  private let start: UInt64
  private var nextReport: UInt64
  private var refusedSince: UInt64?
  /// Whether the operator was told that the broker does not answer.
  package private(set) var hasReported = false

  /// - Parameter now: monotonic milliseconds, as everywhere here.
  package init(now: UInt64) {
    start = now
    nextReport = now + Self.quiet
  }

  /// How long no broker has answered, in milliseconds.
  package func waited(now: UInt64) -> UInt64 { now - start }

  /// Notes that nobody has answered yet.
  ///
  /// - Parameter isRefused: whether a broker has refused us (authentication, TLS) since the start.
  package mutating func noAnswer(now: UInt64, isRefused: Bool) -> Step {
    if isRefused {
      let since = refusedSince ?? now
      refusedSince = since
      if now - since >= Self.doubt { return .giveUp }
    }
    guard now >= nextReport else { return .wait }
    nextReport = now + Self.interval
    hasReported = true
    return .report
  }
}
