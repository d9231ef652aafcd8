// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Watches credentials whose token is not renewed: it asks the signer for the next one while the old one still serves,
/// and raises the alarm when there is none left that may be sent.
///
/// The signer renews after 45 minutes by its own clock. If that is behind, tokens look old here before they are
/// renewed there: a request after 50 minutes brings the next one in time, as long as the signer's clock is not more
/// than half an hour behind (it mints no earlier than 20 minutes after the last).
public struct ProviderTokenWatch: Sendable {
  /// Seconds after `iat` at which a sender asks for the next token.
  public static let agingAge: Int64 = 50 * 60
  /// Between two looks, two requests for a token, and two alarms, in milliseconds.
  public static let interval: Int64 = 1_000
  public static let asking: Int64 = 10_000
  public static let repetition: Int64 = 60_000

  /// The result of one look.
  public struct Report: Sendable, Equatable {
    /// Credentials to ask a token for.
    public var asks: [Int] = []
    /// The number of credentials without a usable token, and one of them.
    public var without = 0
    public var example: Int?
    /// True if the alarm is to be raised now.
    public var isAlarm = false
    /// True if all have a token again after an alarm.
    public var isOver = false

    public init() {}
  }

  private var nextLook = Int64.min
  private var nextAsk = Int64.min
  private var nextAlarm = Int64.min
  /// The number of credentials without a token at the last look.
  private var without = 0

  public init() {}

  /// Looks at the tokens, once a second however often it is called.
  ///
  /// - Parameter now: monotonic milliseconds; `wall`: milliseconds since the epoch.
  /// - Returns: nil between two looks.
  public mutating func look(
    at book: borrowing ProviderTokenBook, now: Int64, wall: Int64
  ) -> Report? {
    guard now >= nextLook else { return nil }
    nextLook = now + Self.interval
    let asks = now >= nextAsk
    var report = Report()
    for index in book.entries.indices where book.isKnown(index) {
      let isUsable = book.isUsable(index, now: wall)
      if !isUsable {
        report.without += 1
        report.example = report.example ?? index
      }
      let isOld = wall >= (book.stamp(index).issuedAt + Self.agingAge) * 1_000
      if asks, isOld || !isUsable { report.asks.append(index) }
    }
    if !report.asks.isEmpty { nextAsk = now + Self.asking }
    report.isOver = without > 0 && report.without == 0
    report.isAlarm = report.without > 0 && (without == 0 || now >= nextAlarm)
    if report.isAlarm { nextAlarm = now + Self.repetition }
    without = report.without
    return report
  }
}
