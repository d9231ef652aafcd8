// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Kafka
@testable import ServiceKit

@Suite struct TopicCheckTests {
  private let names = TopicNames()

  @Test func `settings are read from the cluster and compared with the table`() throws {
    let good = ["cleanup.policy": "delete", "retention.ms": "-1", "min.insync.replicas": "2"]
    let broker = try SettingsBroker([
      .init(name: "push.requests", partitions: 12, settings: good),
      .init(
        name: "push.devices", partitions: 4,
        settings: ["cleanup.policy": "delete", "min.insync.replicas": "1"]),
      .init(name: "push.feedback", partitions: 5, settings: nil),
    ])
    let admin = try KafkaAdmin(
      KafkaConfiguration(bootstrap: "127.0.0.1:\(broker.port)", clientID: "test"))
    defer { admin.close() }
    let sizes = try admin.topicListing(timeoutMilliseconds: 30_000).sizes
    #expect(sizes["push.requests"] == TopicSize(partitions: 12, copies: 3))
    let check = try TopicCheck(names.all, of: names, admin, timeoutMilliseconds: 30_000)
    #expect(
      check.differences.map { "\($0.topic) \($0.property.name) \($0.actual) \($0.isHarmful)" } == [
        "push.feedback partitions 5 false", "push.devices cleanup.policy delete true",
        "push.devices min.insync.replicas 1 true",
      ])
    #expect(check.unreadable == ["push.feedback"])
    #expect(check.missing.count == names.all.count - 3)
  }

  @Test func `what a topic was created with is read from the embedded broker`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let topic = try #require(names.all.first { $0.cleanup == .compact })
    try fixture.broker?.createTopic(.init(topic.name, partitions: 2, settings: topic.settings))
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let settings = try admin.topicSettings([topic.name], timeoutMilliseconds: 30_000)
    for (name, value) in topic.settings { #expect(settings[topic.name]?[name] == value, "\(name)") }
    #expect(try admin.partitionCounts(timeoutMilliseconds: 30_000)[topic.name] == 2)
  }
}

/// A Kafka broker that knows metadata and settings of topics, each with three copies.
private final class SettingsBroker {
  struct Topic: Sendable {
    let name: String
    let partitions: Int32
    /// nil: not for this user.
    let settings: [String: String]?
  }

  let port: UInt16
  private let stop: StopFlag

  private final class StopFlag: Sendable { let flag = Atomic(false) }

  init(_ topics: [Topic]) throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    port = listener.localAddress!.port
    let (descriptor, port) = (dup(listener.fd), self.port)
    let stop = StopFlag()
    self.stop = stop
    let thread = try LoopThread(name: "broker") {
      SettingsBroker.serve(descriptor, Answers(topics: topics, port: port), until: stop)
    }
    thread.detach()
  }

  deinit { stop.flag.store(true, ordering: .releasing) }

  /// Serves all connections until it is told to stop.
  private static func serve(_ listener: Int32, _ answers: Answers, until stop: StopFlag) {
    var open = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    while !stop.flag.load(ordering: .acquiring) {
      guard poll(&open, UInt(open.count), 20) > 0 else { continue }
      for entry in open where entry.revents != 0 {
        if entry.fd == listener {
          let connection = accept(listener, nil, nil)
          open.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0))
        } else if !answer(entry.fd, answers) {
          close(entry.fd)
          open.removeAll { $0.fd == entry.fd }
        }
      }
    }
    for entry in open { close(entry.fd) }
  }

  /// Answers the requests that have come: librdkafka writes whole ones.
  private static func answer(_ connection: Int32, _ answers: Answers) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    let count = read(connection, &bytes, bytes.count)
    var requests = bytes.prefix(max(0, count))
    while requests.count >= 12 {
      let size = requests.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      let request = Array(requests.prefix(4 + size))
      guard let body = answers.body(to: request) else { return false }
      let answer = Answers.number(Int32(body.count + 4)) + request[8..<12] + body
      guard write(connection, answer, answer.count) == answer.count else { return false }
      requests = requests.dropFirst(4 + size)
    }
    return count > 0
  }

  private struct Answers {
    let topics: [Topic]
    let port: UInt16

    static func number<N: FixedWidthInteger>(_ value: N) -> [UInt8] {
      withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private func text(_ text: String) -> [UInt8] {
      Self.number(Int16(text.utf8.count)) + Array(text.utf8)
    }

    private func list(_ items: [[UInt8]]) -> [UInt8] {
      Self.number(Int32(items.count)) + items.joined()
    }

    /// By the request's kind and version; nil for one that it does not know.
    func body(to request: [UInt8]) -> [UInt8]? {
      switch (request[5], request[7]) {
      // ApiVersions: Metadata and DescribeConfigs up to version 1, and this request in version 0.
      case (18, 0):
        [0, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0, 0, 32, 0, 0, 0, 1]
      case (18, _): [0, 35, 0, 0, 0, 0]
      case (3, _): metadata
      case (32, _): settings
      default: nil
      }
    }

    private var metadata: [UInt8] {
      let broker =
        Self.number(Int32(1)) + text("127.0.0.1") + Self.number(Int32(port))
        + Self.number(Int16(-1))
      let copies = list([1, 2, 3].map { Self.number(Int32($0)) })
      return list([broker]) + Self.number(Int32(1))
        + list(
          topics.map { topic in
            let partitions = (0..<topic.partitions).map {
              Self.number(Int16(0)) + Self.number($0) + Self.number(Int32(1)) + copies + copies
            }
            return Self.number(Int16(0)) + text(topic.name) + [0] + list(partitions)
          })
    }

    private var settings: [UInt8] {
      Self.number(Int32(0))
        + list(
          topics.map { topic in
            let error: Int16 = topic.settings == nil ? 29 : 0
            let entries = (topic.settings ?? [:]).map {
              text($0.key) + text($0.value) + [0, 5, 0] + list([])
            }
            return Self.number(error) + Self.number(Int16(-1)) + [2] + text(topic.name)
              + list(entries)
          })
    }
  }
}
