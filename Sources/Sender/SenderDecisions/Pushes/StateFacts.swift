// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The facts about a push by which a newer one supersedes it, or it a later one.
public struct StateFacts: Sendable, Equatable {
  /// A push that nothing supersedes.
  public static var none: StateFacts { StateFacts() }

  /// A hash of device, app, environment and key; 0: nothing supersedes it.
  public var identity: UInt64 = 0
  /// Its place in its lane's partition; −1: that of its record.
  public var position: Int64 = -1
  /// A part of its `apns-id`: what has the same is its repeat, and not newer; 0 if it is not known.
  public var push: UInt32 = 0
  /// How often it was moved to a retry topic, and which one it waited in last.
  public var moves: UInt16 = 0
  public var tier: RetryTier?
  /// The last state: no newer push supersedes it.
  public var isFinal = false
  /// What it has that a newer push without it does not supersede.
  public var urgency = Urgency()
  /// Where it stands among those of its identity that are under way: the offset of the first one whose place it took.
  var place: Int64 = -1
  /// Its key is its collapse id, because it is one of a pile: on a retry topic it has none.
  public var isOfPile = false
  /// The same of one that was fresh when it was read: it is sent, unless it waits until it is one of a pile.
  public var isFresh = false

  public init() {}

  /// A push with this identity.
  ///
  /// - Parameters:
  ///   - identity: not 0.
  ///   - id: its `apns-id`.
  ///   - urgency: what of it must not be lost.
  ///   - position: its place in its lane, which it was moved to a retry topic with; nil if it was not.
  ///   - partition: of its record. Its lane had fewer partitions when it was in another one, so what is first written
  ///     here is newer.
  public init(
    _ identity: UInt64, of id: NotificationID? = nil, isFinal: Bool = false,
    urgency: Urgency = [], position: LanePosition? = nil, in partition: Int32 = 0
  ) {
    self.identity = identity
    if let id { push = UInt32(truncatingIfNeeded: id.low) | 1 }
    self.isFinal = isFinal
    self.urgency = urgency
    guard let position else { return }
    self.position = position.partition == partition ? position.offset : 0
    moves = position.moves
    tier = position.tier
  }

  /// The number under which the newest push of its identity and urgency is known. The urgency is in the highest bits, which
  /// an identity's hash leaves in the same place of a table.
  public var tracked: UInt64 { tracked(as: urgency) }

  /// The same of another urgency.
  func tracked(as urgency: Urgency) -> UInt64 { identity ^ UInt64(urgency.rawValue) << 62 }

  /// The number under which the last state of its identity is known.
  public var end: UInt64 { identity ^ 1 << 61 }

  /// True if it has a key, or had one, that other pushes may have.
  public var hasIdentity: Bool { identity != 0 && !isFresh }

  /// Its place as it is moved to a retry topic; nil if it has no key there.
  ///
  /// - Parameter partition: of its lane.
  public func moving(to tier: RetryTier, from partition: Int32) -> LanePosition? {
    guard hasIdentity, !isOfPile else { return nil }
    return LanePosition(
      partition: partition, offset: position, moves: moves == .max ? .max : moves + 1, tier: tier)
  }
}
