// SPDX-License-Identifier: Apache-2.0
import CRdKafka
import Kafka

extension KafkaFixture {
  /// Produces a record with its own timestamp, as set by a caller, and waits for the acknowledgement.
  public func produce(_ topic: String, value: String, timestamp: Int64) throws {
    var problem = [CChar](repeating: 0, count: 512)
    let native = rd_kafka_conf_new()
    rd_kafka_conf_set(native, "bootstrap.servers", configuration.bootstrap, &problem, problem.count)
    guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, native, &problem, problem.count) else {
      throw KafkaFixtureTimeout()
    }
    defer { rd_kafka_destroy(client) }
    let error = topic.withCString { name in
      Array(value.utf8).withUnsafeBytes { bytes in
        var arguments = [rd_kafka_vu_t](repeating: rd_kafka_vu_t(), count: 4)
        arguments[0].vtype = RD_KAFKA_VTYPE_TOPIC
        arguments[0].u.cstr = name
        arguments[1].vtype = RD_KAFKA_VTYPE_VALUE
        arguments[1].u.mem.ptr = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        arguments[1].u.mem.size = bytes.count
        arguments[2].vtype = RD_KAFKA_VTYPE_TIMESTAMP
        arguments[2].u.i64 = timestamp
        arguments[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS
        arguments[3].u.i = RD_KAFKA_MSG_F_COPY
        return rd_kafka_produceva(client, &arguments, arguments.count)
      }
    }
    if let error {
      rd_kafka_error_destroy(error)
      throw KafkaFixtureTimeout()
    }
    guard rd_kafka_flush(client, 20_000) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaFixtureTimeout()
    }
  }
}
