// SPDX-License-Identifier: Apache-2.0

/// Whether a command that writes to Kafka gets on, or Kafka has acknowledged nothing for a while although records wait.
/// Times are monotonic milliseconds.
public struct Standstill: Sendable {
  public enum Step: Equatable, Sendable {
    case moving
    /// Nothing was acknowledged for so long.
    case standing(UInt64)
    /// Something was, after so long.
    case resumed(UInt64)
    /// Nothing was for so long that waiting ends.
    case over(UInt64)
  }

  /// Shorter ones are no news: a broker is replaced, a leader elected.
  public static let noticeable: UInt64 = 5_000
  /// Longer than a broker takes to start again.
  public static let patience: UInt64 = 120_000

  private let noticeable: UInt64
  private let patience: UInt64
  private var answered: UInt64 = 0
  private var movedAt: UInt64?
  private var isStanding = false
  /// The time that was spent standing, without the present standstill.
  public private(set) var total: UInt64 = 0

  /// - Parameters:
  ///   - noticeable: a standstill of so many milliseconds is said.
  ///   - patience: after so many waiting ends.
  public init(noticeable: UInt64 = Self.noticeable, patience: UInt64 = Self.patience) {
    (self.noticeable, self.patience) = (noticeable, patience)
  }

  /// Call it at least every second while records wait, behind whatever takes Kafka's answers.
  ///
  /// - Parameters:
  ///   - answered: records that Kafka has answered for since the beginning.
  ///   - outstanding: records that it has not.
  public mutating func look(answered: UInt64, outstanding: Int, now: UInt64) -> Step {
    let since = movedAt ?? now
    guard outstanding > 0, answered == self.answered else {
      (self.answered, movedAt) = (answered, now)
      guard isStanding else { return .moving }
      isStanding = false
      total += now - since
      return .resumed(now - since)
    }
    movedAt = since
    guard now - since >= noticeable else { return .moving }
    isStanding = true
    return now - since >= patience ? .over(now - since) : .standing(now - since)
  }
}
