// SPDX-License-Identifier: Apache-2.0

/// The walk over one request: which of its records is made next. It can stop after any of them, and goes on there.
///
/// As long as it is under way, the request's entry of the `RequestTable` is held once more than its records hold it: the
/// offset is not complete before all of them are made. Given up on the way (`RequestTable.abandon`), the request
/// completes nothing, and the next owner of its partition makes all of them again.
public struct FanOut: Sendable {
  public enum Step: Sendable, Equatable {
    /// The request cannot be read: a dead letter.
    case refuse
    /// The one notification of a broadcast.
    case broadcast
    /// The notification of the token at this index.
    case notify(Int)
    /// The record of the schedule: the request's time has not come, or its people's devices are to be looked up.
    case schedule
    /// The receipt of a request to people: how many devices they have.
    case summarize
  }

  private enum Kind { case refusal, broadcast, tokens, scheduled, people, peopleBroadcast }

  private let kind: Kind
  private let count: Int
  private var position = 0

  private init(_ kind: Kind, _ count: Int) {
    (self.kind, self.count) = (kind, count)
  }

  public static let refusal = FanOut(.refusal, 1)
  public static let broadcast = FanOut(.broadcast, 1)
  public static let scheduled = FanOut(.scheduled, 1)
  /// - Parameter count: tokens of the request, 0 or more.
  public static func tokens(_ count: Int) -> FanOut { FanOut(.tokens, count) }
  /// - Parameter count: devices that a request to people has, 0 or more.
  public static func people(_ count: Int) -> FanOut { FanOut(.people, count + 1) }
  /// A request to people that goes to a channel.
  public static let peopleBroadcast = FanOut(.peopleBroadcast, 2)

  /// The record to make next; nil when all is made.
  public var next: Step? {
    guard position < count else { return nil }
    switch kind {
    case .refusal: return .refuse
    case .broadcast: return .broadcast
    case .tokens: return .notify(position)
    case .scheduled: return .schedule
    case .people: return position + 1 < count ? .notify(position) : .summarize
    case .peopleBroadcast: return position == 0 ? .broadcast : .summarize
    }
  }

  /// Moves on, after the record that `next` named was made.
  public mutating func advance() { position += 1 }
}
