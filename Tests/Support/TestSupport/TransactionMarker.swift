// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import Glibc
import Kafka

/// The marker that a broker writes behind the records of a transaction: an offset that is no record.
///
/// The embedded broker knows no transactions, but keeps batches as they were sent. So the marker is sent as a producer's
/// batch, which a real broker refuses.
enum TransactionMarker {
  /// One control batch that says "committed", of producer 1.
  private static var batch: [UInt8] {
    // Length, attributes, timestamp and offset deltas, the key (version 0, type 1: commit), the value, no headers.
    let record: [UInt8] = [32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 0, 0]
    // Transactional and control.
    var content = bytes(Int16(0x30)) + bytes(Int32(0)) + bytes(Int64(0)) + bytes(Int64(0))
    content += bytes(Int64(1)) + bytes(Int16(0)) + bytes(Int32(-1)) + bytes(Int32(1)) + record
    let body = bytes(Int32(-1)) + [2] + bytes(checksum(content)) + content
    return bytes(Int64(0)) + bytes(Int32(body.count)) + body
  }

  /// A request of kind `Produce`, version 7, with its length before it.
  private static func request(_ topic: String, _ partition: Int32) -> [UInt8] {
    let (name, batch) = (Array(topic.utf8), batch)
    var request: [UInt8] = bytes(Int16(0)) + bytes(Int16(7)) + bytes(Int32(1)) + bytes(Int16(-1))
    request += bytes(Int16(-1)) + bytes(Int16(-1)) + bytes(Int32(10_000))
    request += bytes(Int32(1)) + bytes(Int16(name.count)) + name
    request += bytes(Int32(1)) + bytes(partition) + bytes(Int32(batch.count)) + batch
    return bytes(Int32(request.count)) + request
  }

  /// CRC-32C, which consumers check.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0x82f6_3b78 : sum >> 1 }
    }
    return ~sum
  }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  /// Appends a marker to a partition; returns when the broker has answered.
  ///
  /// - Parameter bootstrap: of an embedded broker with one node: `127.0.0.1:port`.
  static func append(to topic: String, _ partition: Int32, at bootstrap: String) throws {
    guard let port = bootstrap.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw KafkaFixtureTimeout()
    }
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    let request = request(topic, partition)
    var answer: [UInt8] = Array(repeating: 0, count: 4)
    guard isConnected, send(socket, request, request.count, 0) == request.count,
      recv(socket, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count
    else { throw KafkaFixtureTimeout() }
  }
}

extension KafkaFixture {
  /// Ends a partition's log with a transaction's marker. Needs an embedded broker.
  public func endTransaction(on topic: String, partition: Int32 = 0) throws {
    guard let broker else { throw KafkaFixtureTimeout() }
    try TransactionMarker.append(to: topic, partition, at: broker.bootstrap)
  }
}
