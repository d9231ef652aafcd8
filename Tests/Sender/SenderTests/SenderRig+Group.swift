// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka
import TestSupport

@testable import Sender

extension SenderRig {
  /// Commits for the senders' group, before one of them starts.
  func commit(offset: Int64, metadata: String?) throws {
    try fixture.commit(
      group: names.group(.sender), TopicPartition(topic: names.notifications(.first), partition: 0),
      offset: offset, metadata: metadata)
  }

  /// The partition of the transactional lane, in a rig that has one.
  var onlyPartition: TopicPartition {
    TopicPartition(topic: names.notifications(.first), partition: 0)
  }

  /// How many records of the transactional lane the group has committed as done, those above offsets included.
  func committedDone() throws -> Int {
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let all = (0..<Int32(partitions)).map {
      TopicPartition(topic: names.notifications(.first), partition: $0)
    }
    let offsets = try admin.groupOffsets(names.group(.sender), all, timeoutMilliseconds: 30_000)
    return try offsets.reduce(0) {
      guard let offset = $1.offset else { return $0 }
      let above =
        $1.metadata.isEmpty ? [] : try OffsetMap.decode($1.metadata, of: $1.partition, base: offset)
      return $0 + Int(offset) + above.reduce(0) { $0 + $1.count }
    }
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
    return try fixture.overflow(names.notifications(.first), with: records)
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
