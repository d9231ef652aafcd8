// SPDX-License-Identifier: Apache-2.0
import Kafka
import Pipeline
import TestSupport

@testable import Sender

extension SenderRig {
  /// Commits for the senders' group, before one of them starts.
  func commit(offset: Int64, metadata: String?) throws {
    try fixture.commit(
      group: names.group(.sender), TopicPartition(topic: names.notifications, partition: 0),
      offset: offset, metadata: metadata)
  }

  /// Produces more than the embedded broker keeps of a partition; returns the first offset that is left.
  func overflow(count: Int, bodyBytes: Int) throws -> Int {
    let filler = String(repeating: "x", count: bodyBytes)
    let records = (1...count).map {
      (
        key: Self.token(1),
        value: Self.envelope(id: Self.id($0), body: #"{"aps":{"alert":"\#(filler)"}}"#)
      )
    }
    return try fixture.overflow(names.notifications, with: records)
  }
}

extension KafkaFixture {
  /// Calls `body` with the bytes of a key and a value.
  func withRecord(
    _ key: String, _ value: String,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    try Array(key.utf8).withUnsafeBytes { key in
      try Array(value.utf8).withUnsafeBytes { value in try body(key, value) }
    }
  }
}
