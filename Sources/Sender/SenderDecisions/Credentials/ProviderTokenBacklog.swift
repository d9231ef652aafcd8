// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Records of the provider tokens' topic that a loop was told and has not applied: so many per turn, in their order, so
/// that thousands at once hold up no push.
public struct ProviderTokenBacklog: Sendable {
  /// The updates that one turn applies.
  public struct Batch: Sendable {
    public let updates: ArraySlice<ProviderTokenBook.Update>
    /// It ends what was told at once: pushes that wait for a credential may find theirs.
    public let isLast: Bool
    /// All that the topic had at the start is known with it.
    public let isComplete: Bool
  }

  private struct Message: Sendable {
    var updates: [ProviderTokenBook.Update]
    var isComplete: Bool
  }

  /// Updates of one turn at most: well below a millisecond.
  public static let atOnce = 256

  private var messages: [Message] = []
  /// Updates of the first message that were applied.
  private var applied = 0

  public init() {}

  public var isEmpty: Bool { messages.isEmpty }

  /// Notes what was told, possibly only that everything is known.
  public mutating func append(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    messages.append(Message(updates: updates, isComplete: isComplete))
  }

  /// The updates that this turn applies; nil when there is nothing.
  public mutating func next() -> Batch? {
    guard let first = messages.first else { return nil }
    let updates = first.updates[applied...].prefix(Self.atOnce)
    let isLast = updates.endIndex == first.updates.endIndex
    if isLast {
      messages.removeFirst()
      applied = 0
    } else {
      applied = updates.endIndex
    }
    return Batch(updates: updates, isLast: isLast, isComplete: isLast && first.isComplete)
  }
}
