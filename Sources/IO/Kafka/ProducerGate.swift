// SPDX-License-Identifier: Apache-2.0

/// Looks on at what a producer writes, and says when its owner should take no further work in. Only the embedded
/// broker needs one: it drops what its readers have not read in time, without a word.
///
/// Owned by the producer's thread.
public protocol ProducerGate: AnyObject {
  /// The broker has a record in a topic of the producer.
  ///
  /// - Parameter bytes: of key and value.
  func acknowledged(_ topic: KafkaTopic, partition: Int32, offset: Int64, bytes: Int)
  /// Takes in how far the readers are. Before deliveries are drained.
  func refresh()
  /// Whether the owner may take further work in.
  ///
  /// - Parameter outstandingBytes: what the producer has had no answer for.
  func isOpen(outstandingBytes: Int) -> Bool
}
