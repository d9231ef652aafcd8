// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import Glibc
import Testing

@Suite struct ApiVersionsTests {
  private let broker: EmbeddedBroker
  private let descriptor: Int32

  init() throws {
    broker = try EmbeddedBroker([.init("things", partitions: 1)])
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = try #require(
      broker.bootstrap.split(separator: ":").last.flatMap { UInt16($0) }
    )
    .bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
  }

  /// An ApiVersions request of a client named "c"; from version 3 on with tags and the names of its software.
  private func request(version: UInt8, number: UInt8) -> [UInt8] {
    let body: [UInt8] = version < 3 ? [] : [0, 2, 99, 2, 49, 0]
    let rest: [UInt8] = [0, 18, 0, version, 0, 0, 0, number, 0, 1, 99] + body
    return [0, 0, 0, UInt8(rest.count)] + rest
  }

  private func write(_ bytes: [UInt8]) {
    #expect(send(descriptor, bytes, bytes.count, 0) == bytes.count)
  }

  private func read(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    try #require(recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count)
    return bytes
  }

  /// Expects an answer of version 0 with the error, and in the list what the cluster announces of ListOffsets.
  private func expectAnswer(number: UInt8, error: UInt8) throws {
    let size = try read(4)
    let answer = try read(Int(size[2]) << 8 | Int(size[3]))
    #expect(Array(answer[..<6]) == [0, 0, 0, number, 0, error])
    let count = Int(answer[9])
    try #require(count > 10 && answer.count == 10 + 6 * count)
    let entries = (0..<count).map { Array(answer[(10 + 6 * $0)..<(16 + 6 * $0)]) }
    #expect(entries.contains([0, 18, 0, 0, 0, 2]))
    #expect(entries.contains([0, 2, 0, 0, 0, 3]))
  }

  @Test func `a version that is not known is refused in version 0, with all that is known`() throws
  {
    defer { close(descriptor) }
    for version: UInt8 in [3, 4] {
      write(request(version: version, number: version))
      try expectAnswer(number: version, error: 35)
    }
    write(request(version: 0, number: 9))
    try expectAnswer(number: 9, error: 0)
  }

  @Test func `so is one that comes in single bytes`() throws {
    defer { close(descriptor) }
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
    for byte in request(version: 4, number: 7) {
      write([byte])
      usleep(2_000)
    }
    try expectAnswer(number: 7, error: 35)
  }

  @Test func `two requests in one packet have an answer each`() throws {
    defer { close(descriptor) }
    write(request(version: 4, number: 1) + request(version: 0, number: 2))
    try expectAnswer(number: 1, error: 35)
    try expectAnswer(number: 2, error: 0)
  }
}
