// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct BrokerPortTests {
  @Test
  func `the embedded broker listens at the given address, also right after another one`() throws {
    KafkaLog.silence()
    let port = try FreePort.find()
    for _ in 0..<2 {
      let broker = try EmbeddedBroker([.init("things", partitions: 2)], port: port)
      #expect(broker.bootstrap == "127.0.0.1:\(port)")
      // What it says of itself is right as well: the client goes on where the metadata says.
      let configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "test")
      let admin = try KafkaAdmin(configuration)
      #expect(try admin.partitionCounts(timeoutMilliseconds: 30_000)["things"] == 2)
      let marks = try admin.watermarks(
        TopicPartition(topic: "things", partition: 1), timeoutMilliseconds: 30_000)
      #expect(marks.high == 0)
      let error = #expect(throws: KafkaError.self) { _ = try EmbeddedBroker(port: port) }
      #expect(error?.message.contains("cannot bind 127.0.0.1:\(port)") == true)
      admin.close()
    }
    // Others are not touched by it.
    #expect(try EmbeddedBroker(brokers: 2).bootstrap.contains(":\(port)") == false)
  }

  /// Another descriptor of the socket that listens on a port in this process, as a process that is being started has
  /// one until it runs its own program.
  private func copyOfListener(on port: UInt16) -> Int32? {
    (3..<1_024).first { descriptor in
      var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
      let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(descriptor, $0, &length)
        }
      }
      var (listens, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
      getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
      return code == 0 && address.sin_port == port.bigEndian && listens == 1
    }.map { dup($0) }
  }

  @Test(arguments: [false, true])
  func `a broker opens its port although a copy of the closed listener is open for a while`(
    isNew: Bool
  ) throws {
    KafkaLog.silence()
    let port = try FreePort.find()
    var broker: EmbeddedBroker? = try EmbeddedBroker([.init("things", partitions: 2)], port: port)
    let copy = try #require(copyOfListener(on: port))
    let child = try LoopThread(name: "child") {
      letPass(milliseconds: 100)
      close(copy)
    }
    if isNew {
      broker = nil
      broker = try EmbeddedBroker([.init("things", partitions: 2)], port: port)
    } else {
      broker?.setDown()
      broker?.setUp()
    }
    child.join()
    let configuration = KafkaConfiguration(bootstrap: broker!.bootstrap, clientID: "test")
    let admin = try KafkaAdmin(configuration)
    #expect(try admin.partitionCounts(timeoutMilliseconds: 30_000)["things"] == 2)
    admin.close()
  }
}
