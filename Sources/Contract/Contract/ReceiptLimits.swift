// SPDX-License-Identifier: Apache-2.0

/// When a batch of receipts is written: many lines per record, because producing is the dearest Kafka step. A loop
/// without work writes at once.
public enum ReceiptLimits {
  /// At this many outcomes,
  public static let outcomes = 500
  /// or at this many bytes, well below the broker's usual limit of a mebibyte,
  public static let bytes = 512 << 10
  /// or when its first outcome is this old, in milliseconds.
  public static let age: UInt64 = 10
  /// and a loop that would sleep longer wakes for it at this age: most have another reason to before.
  public static let longestAge: UInt64 = 15
  /// Records of a loop that Kafka has not acknowledged: with so many a batch goes on growing, up to its bytes, until one
  /// is. Otherwise the slower Kafka is the more records it gets, and from five to a partition on librdkafka spins.
  public static let flying = 8
}
