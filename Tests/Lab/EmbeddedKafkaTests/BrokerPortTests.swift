// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct BrokerPortTests {
  /// A port that was free a moment ago.
  private func freePort() throws -> UInt16 {
    let socket = try Socket.listening(on: .loopback(port: 0))
    return try #require(socket.localAddress?.port)
  }

  @Test func `the embedded broker listens where it is told, also right after another one`() throws {
    KafkaLog.silence()
    let port = try freePort()
    for _ in 0..<2 {
      let broker = try EmbeddedBroker([.init("things", partitions: 2)], port: port)
      #expect(broker.bootstrap == "127.0.0.1:\(port)")
      // What it says of itself is right as well: the client goes on where the metadata says.
      let configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "test")
      let admin = try KafkaAdmin(configuration)
      #expect(try admin.partitionCounts(timeoutMilliseconds: 10_000)["things"] == 2)
      let marks = try admin.watermarks(
        TopicPartition(topic: "things", partition: 1), timeoutMilliseconds: 10_000)
      #expect(marks.high == 0)
      let error = #expect(throws: KafkaError.self) { _ = try EmbeddedBroker(port: port) }
      #expect(error?.message.contains("cannot bind 127.0.0.1:\(port)") == true)
      admin.close()
    }
    // Others are not touched by it.
    #expect(try EmbeddedBroker(brokers: 2).bootstrap.contains(":\(port)") == false)
  }
}
