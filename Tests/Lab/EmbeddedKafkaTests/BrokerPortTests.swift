// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct BrokerPortTests {
  @Test func `the embedded broker listens at the given address, also right after another one`()
    throws
  {
    KafkaLog.silence()
    let port = try FreePort.find()
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

  @Test func `a broker with many topics does not wait a second for some of them`() throws {
    KafkaLog.silence()
    let topics = (0..<100).map { KafkaTopicSpecification("topic-\($0)", partitions: 1) }
    let began = ContinuousClock.now
    _ = try EmbeddedBroker(topics)
    // A tenth of a second; it was half a minute.
    #expect(began.duration(to: .now) < .seconds(10))
  }

  /// Asks for a topic as soon as somebody listens on the port, as a client of an earlier broker does. Once.
  private func firstClient(of topic: String, port: UInt16) throws -> LoopThread {
    // Metadata, version 0.
    let name = Array(topic.utf8)
    let body = [0, 3, 0, 0, 0, 0, 0, 1, 0xFF, 0xFF, 0, 0, 0, 1, 0, UInt8(name.count)] + name
    let request = [0, 0, 0, UInt8(body.count)] + body
    return try LoopThread(name: "client") {
      var answer = [UInt8](repeating: 0, count: 64)
      while true {
        guard let socket = try? Socket.connecting(to: .loopback(port: port)) else { continue }
        guard case .moved = request.withUnsafeBytes({ socket.write($0) }) else { continue }
        var entry = pollfd(fd: socket.fd, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, 10_000)
        if case .moved = answer.withUnsafeMutableBytes({ socket.read(into: $0) }) { return }
      }
    }
  }

  @Test
  func
    `a client that asks for a topic before it is created does not keep the broker from starting`()
    throws
  {
    KafkaLog.silence()
    let port = try FreePort.find()
    let client = try firstClient(of: "things", port: port)
    // So many others before it that the client is there first.
    let others = (0..<200).map { KafkaTopicSpecification("other-\($0)", partitions: 1) }
    let broker = try EmbeddedBroker(others + [.init("things", partitions: 2)], port: port)
    client.join()
    let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "test"))
    #expect(try admin.partitionCounts(timeoutMilliseconds: 20_000)["things"] == 2)
    admin.close()
  }
}
