// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

/// The broker's sockets and files, with librdkafka and without.
@Suite struct BrokerServerTests {
  private func configuration(_ bootstrap: String) -> KafkaConfiguration {
    var configuration = KafkaConfiguration(bootstrap: bootstrap, clientID: "test")
    configuration.producer = [("linger.ms", "1")]
    return configuration
  }

  private func produce(_ count: Int, to topic: String, _ bootstrap: String) throws {
    let producer = try KafkaProducer(configuration(bootstrap))
    defer { producer.close() }
    let output = try producer.topic(named: topic)
    for number in 0..<count {
      Array("value \(number)".utf8).withUnsafeBytes { value in
        _ = producer.produce(output, key: value, value: value, tag: 0)
      }
    }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
  }

  private func marks(_ topic: String, _ bootstrap: String) throws -> Int64 {
    let admin = try KafkaAdmin(configuration(bootstrap))
    defer { admin.close() }
    return try admin.watermarks(.init(topic: topic, partition: 0), timeoutMilliseconds: 30_000).high
  }

  private func read(_ count: Int, _ topic: String, _ bootstrap: String) throws -> [Int64] {
    var offsets: [Int64] = []
    try configuration(bootstrap).read(
      topic, { offsets.append($0.offset) }, until: { _ in offsets.count >= count })
    return offsets
  }

  @Test
  func `what librdkafka writes it reads again, also after a restart and from a torn file`() throws {
    KafkaLog.silence()
    let folder = TemporaryFolder()
    let place = folder.file("kafka")
    do {
      let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
      try produce(2_000, to: "things", broker.bootstrap)
      #expect(try read(2_000, "things", broker.bootstrap) == Array(0..<2_000))
      #expect(throws: KafkaError.self) { _ = try EmbeddedBroker(folder: place) }
    }
    // As a process leaves it that was killed while it wrote.
    for name in ["1-0-0-0.log", "journal"] {
      let file = open(place + "/" + name, O_WRONLY | O_APPEND)
      try #require(file >= 0)
      #expect(write(file, [UInt8](repeating: 7, count: 100), 100) == 100)
      close(file)
    }
    let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
    #expect(try read(2_000, "things", broker.bootstrap) == Array(0..<2_000))
    try produce(10, to: "things", broker.bootstrap)
    #expect(try marks("things", broker.bootstrap) == 2_010)
    #expect(try read(2_010, "things", broker.bootstrap) == Array(0..<2_010))
  }

  /// As a process leaves it that was killed during the first batch of a segment, when compaction had removed what was
  /// newest before.
  @Test func `offsets up to the base of a torn segment are not given again`() throws {
    KafkaLog.silence()
    let folder = TemporaryFolder()
    let place = folder.file("kafka")
    do {
      let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
      try produce(10, to: "things", broker.bootstrap)
    }
    let file = open(place + "/1-0-25-0.log", O_CREAT | O_WRONLY, 0o644)
    try #require(file >= 0)
    #expect(write(file, [UInt8](repeating: 7, count: 100), 100) == 100)
    close(file)
    for written in [0, 5] as [Int64] {
      let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
      #expect(try marks("things", broker.bootstrap) == 25 + written)
      // A reader gets over the gap although nothing is behind it.
      let before = try configuration(broker.bootstrap).readAll("things")
      #expect(before.count == 10 + Int(written))
      try produce(5, to: "things", broker.bootstrap)
      let count = 15 + Int(written)
      let expected: [Int64] = Array(0..<10) + Array(25..<30 + written)
      #expect(try read(count, "things", broker.bootstrap) == expected)
    }
  }

  /// Damages the journal of two topics, one record in each, and starts a broker on it.
  private func startDamaged(_ damage: (_ journal: String, _ size: Int) -> Void) throws {
    KafkaLog.silence()
    let folder = TemporaryFolder()
    let place = folder.file("kafka")
    do {
      let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
      try produce(1, to: "things", broker.bootstrap)
      try broker.createTopic(.init("others", partitions: 1))
      try produce(1, to: "others", broker.bootstrap)
    }
    let journal = place + "/journal"
    let file = open(journal, O_RDONLY)
    try #require(file >= 0)
    let size = Int(lseek(file, 0, SEEK_END))
    close(file)
    damage(journal, size)
    let error = #expect(throws: KafkaError.self) { _ = try EmbeddedBroker(folder: place) }
    #expect(error.map { "\($0)".contains(journal) } == true)
    for name in ["1-0-0-0.log", "2-0-0-0.log"] {
      #expect(access(place + "/" + name, F_OK) == 0, "\(name)")
    }
  }

  /// Payloads, device tokens and provider tokens are among the records.
  @Test func `nobody but its user may read what a broker keeps`() throws {
    KafkaLog.silence()
    let folder = TemporaryFolder()
    let place = folder.file("kafka")
    let broker = try EmbeddedBroker([.init("things", partitions: 1)], folder: place)
    try produce(1, to: "things", broker.bootstrap)
    let names = File.names(in: place)
    #expect(names.contains("1-0-0-0.log") && names.contains("journal"), "\(names)")
    for name in names { #expect(try File.exposure(of: place + "/" + name) == nil, "\(name)") }
  }

  @Test func `a broker with a damaged journal does not start, and deletes no records`() throws {
    try startDamaged { journal, _ in
      let file = open(journal, O_WRONLY)
      #expect(pwrite(file, [0xFF], 1, 9) == 1)
      close(file)
    }
    // The entry of the second topic is torn.
    try startDamaged { journal, size in #expect(truncate(journal, size - 3) == 0) }
    // As a disk leaves it that lost its power, or somebody who tidies up.
    try startDamaged { journal, _ in #expect(truncate(journal, 0) == 0) }
    try startDamaged { journal, _ in #expect(unlink(journal) == 0) }
  }

  @Test func `a record reaches a reader that waits`() throws {
    KafkaLog.silence()
    let broker = try EmbeddedBroker([.init("things", partitions: 1)])
    var slow = configuration(broker.bootstrap)
    slow.consumer = [("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "120000")]
    let tail = try KafkaTail(slow, topic: "things", from: .beginning)
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 10)
    _ = tail.poll(into: &batch, timeoutMilliseconds: 500)
    try produce(1, to: "things", broker.bootstrap)
    let began = MonotonicClock.milliseconds()
    while batch.count == 0, MonotonicClock.milliseconds() < began + 50_000 {
      _ = tail.poll(into: &batch, timeoutMilliseconds: 20)
    }
    #expect(batch.count == 1 && MonotonicClock.milliseconds() < began + 40_000)
    batch.release()
  }

  /// A connection without a client library; answers, and the end of the connection, are awaited for a minute.
  private struct RawConnection: ~Copyable {
    let descriptor: Int32

    init(_ bootstrap: String) throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var patience = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let port = try #require(bootstrap.split(separator: ":").last.flatMap { UInt16($0) })
      address.sin_port = port.bigEndian
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(code == 0)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
      _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The next answer; nil when the connection was closed.
    func answer() -> [UInt8]? {
      var size = [UInt8](repeating: 0, count: 4)
      let read = recv(descriptor, &size, 4, Int32(MSG_WAITALL))
      if read < 0, errno == EAGAIN { Issue.record("neither an answer nor the end") }
      guard read == 4 else { return nil }
      let count = size.reduce(0) { $0 << 8 | Int($1) }
      var bytes = [UInt8](repeating: 0, count: count)
      guard recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count else { return nil }
      return bytes
    }
  }

  /// An ApiVersions request.
  private func versions(_ version: UInt8, number: UInt8) -> [UInt8] {
    let body: [UInt8] = version < 3 ? [] : [0, 2, 99, 2, 49, 0]
    let rest: [UInt8] = [0, 18, 0, version, 0, 0, 0, number, 0, 1, 99] + body
    return [0, 0, 0, UInt8(rest.count)] + rest
  }

  @Test func `requests are answered in their order, byte by byte or together`() throws {
    let server = try BrokerServer()
    let connection = try RawConnection(server.bootstrap)
    connection.send(versions(0, number: 1) + versions(3, number: 2) + versions(9, number: 3))
    for (number, error): (UInt8, UInt8) in [(1, 0), (2, 0), (3, 35)] {
      let reply = connection.answer()
      let answer = try #require(reply)
      #expect(Array(answer[..<6]) == [0, 0, 0, number, 0, error])
    }
    for byte in versions(4, number: 9) {
      connection.send([byte])
      usleep(500)
    }
    let last = connection.answer()
    #expect(last?[3] == 9)
  }

  @Test func `a broker that clients connect to at this moment ends`() throws {
    for _ in 0..<200 {
      var server: BrokerServer? = try BrokerServer()
      let port = try #require(server?.bootstrap.split(separator: ":").last.flatMap { UInt16($0) })
      let client = try LoopThread(name: "client") {
        for _ in 0..<5 {
          do { try Socket.connecting(to: .loopback(port: port)).finishWriting() } catch {}
        }
      }
      server = nil
      client.join()
    }
  }

  @Test
  func `an authenticated user works, others are refused, and their requests are bounded`() throws {
    KafkaLog.silence()
    let access = try AccessControl(
      file: "user ann secret\nall topic things\nread group *\nuser bob word")
    let broker = try EmbeddedBroker([.init("things", partitions: 1)], access: access)
    func properties(_ name: String, _ password: String) -> KafkaConfiguration {
      var all = configuration(broker.bootstrap)
      all.common = [
        ("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "PLAIN"),
        ("sasl.username", name), ("sasl.password", password),
      ]
      return all
    }
    func high(_ user: KafkaConfiguration, within milliseconds: Int32 = 3_000) throws -> Int64 {
      let admin = try KafkaAdmin(user)
      defer { admin.close() }
      return try admin.watermarks(
        .init(topic: "things", partition: 0), timeoutMilliseconds: milliseconds
      ).high
    }
    #expect(try high(properties("ann", "secret"), within: 30_000) == 0)
    #expect(throws: KafkaError.self) { try high(properties("bob", "word")) }
    #expect(throws: KafkaError.self) { try high(properties("ann", "word")) }
    #expect(throws: KafkaError.self) { try high(configuration(broker.bootstrap)) }
    // ApiVersions of 65 kB: its length alone ends the connection.
    let connection = try RawConnection(broker.bootstrap)
    connection.send(versions(0, number: 1))
    let first = connection.answer()
    connection.send([0, 1, 0, 1, 0, 18, 0, 0])
    let second = connection.answer()
    #expect(first != nil && second == nil)
  }

  @Test func `what is no request ends its connection and no other`() throws {
    let server = try BrokerServer()
    let other = try RawConnection(server.bootstrap)
    for bytes: [UInt8] in [
      [0x7F, 0xFF, 0xFF, 0xFF, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 2, 0, 3],
      Array("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 9, 0, 99, 0, 0, 0, 0, 0, 1, 0],
    ] {
      let connection = try RawConnection(server.bootstrap)
      connection.send(bytes)
      let answer = connection.answer()
      #expect(answer == nil)
    }
    other.send(versions(0, number: 1))
    let answer = other.answer()
    #expect(answer != nil)
  }
}
