// SPDX-License-Identifier: Apache-2.0

/// The behavior of a process while no broker answers: it waits, reports this at intervals, and gives up only on errors
/// that waiting does not fix.
public struct BrokerWait: Sendable, Equatable {
  public enum Step: Sendable, Equatable {
    case wait
    /// Wait, and report it to the operator.
    case report
    /// Stop: the broker refuses the connection or cannot be trusted, so a setting is wrong.
    case giveUp
  }

  /// The time before the first report, in milliseconds: a broker may start together with the process.
  public static let quiet: UInt64 = 1_000
  /// The interval between two reports, in milliseconds.
  public static let interval: UInt64 = 10_000
  /// How long a refusal must persist, in milliseconds: another broker of the cluster may accept.
  public static let doubt: UInt64 = 2_000

  private let start: UInt64
  private var nextReport: UInt64
  private var refusedSince: UInt64?
  /// True if it was reported that no broker answers.
  public private(set) var hasReported = false

  /// - Parameter now: monotonic milliseconds, as everywhere in this type.
  public init(now: UInt64) {
    start = now
    nextReport = now + Self.quiet
  }

  /// The time for which no broker has answered, in milliseconds.
  public func waited(now: UInt64) -> UInt64 { now - start }

  /// Notes that no broker has answered yet.
  ///
  /// - Parameter isRefused: whether a broker has refused the connection (authentication, TLS) since the start.
  public mutating func noAnswer(now: UInt64, isRefused: Bool) -> Step {
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
