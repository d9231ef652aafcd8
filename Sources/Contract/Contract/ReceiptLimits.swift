// SPDX-License-Identifier: Apache-2.0

/// When a batch of receipts is written: many lines per record, because producing is the most expensive Kafka step. An
/// idle loop writes at once.
public enum ReceiptLimits {
  /// At this many outcomes,
  public static let outcomes = 500
  /// or at this many bytes, well below the broker's usual limit of a mebibyte,
  public static let bytes = 512 << 10
  /// or when its first outcome is this old, in milliseconds.
  public static let age: UInt64 = 10
  /// and a loop that would sleep longer wakes at this age; most wake earlier for other reasons.
  public static let longestAge: UInt64 = 15
  /// The most unacknowledged records of a loop: at the limit, a batch grows, up to its bytes, until one is
  /// acknowledged. Otherwise a slow Kafka would get ever more, and from five per partition on librdkafka spins.
  public static let flying = 8
}
