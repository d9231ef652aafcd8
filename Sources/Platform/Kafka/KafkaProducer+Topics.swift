// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

extension KafkaProducer {
  /// Looks up a topic in the cluster, so that the first record waits neither for its metadata nor for the producer id.
  ///
  /// Throws when the topic does not exist or no broker answers within the timeout.
  public func topic(
    named name: String, timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) -> KafkaTopic {
    if let index = topics.firstIndex(where: { $0.name == name }) {
      return KafkaTopic(index: Int32(index))
    }
    let handle = try newHandle(name)
    do throws(KafkaError) {
      // librdkafka requests the id after a metadata response, or 500 ms after its start. From 2.10 on it cannot yet
      // after the first: that came from a bootstrap server, and the broker that it names is not connected.
      for _ in 0..<(topics.isEmpty ? 2 : 1) {
        _ = try partitionCount(client!.raw, handle, timeoutMilliseconds: timeoutMilliseconds)
      }
    } catch {
      rd_kafka_topic_destroy(handle)
      throw error
    }
    topics.append((name, handle))
    return KafkaTopic(index: Int32(topics.count - 1))
  }

  /// A topic that is known to exist: no request is sent, and no broker needs to be reachable.
  public func topic(known name: String) throws(KafkaError) -> KafkaTopic {
    if let index = topics.firstIndex(where: { $0.name == name }) {
      return KafkaTopic(index: Int32(index))
    }
    topics.append((name, try newHandle(name)))
    return KafkaTopic(index: Int32(topics.count - 1))
  }

  private func newHandle(_ name: String) throws(KafkaError) -> OpaquePointer {
    guard let client, let handle = rd_kafka_topic_new(client.raw, name, nil) else {
      throw .invalid("cannot produce to topic \(name)")
    }
    return handle
  }
}
