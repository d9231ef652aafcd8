// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct ClusterViewTests {
  init() { KafkaLog.silence() }

  @Test
  func `a broker that accepts connections and never answers is waited for until a stop`() throws {
    let mute = try Socket.listening(on: .loopback(port: 0))
    let wait = try ClusterWaitThread(
      KafkaConfiguration(bootstrap: "127.0.0.1:\(mute.localAddress!.port)", clientID: "test"))
    #expect(!eventually(withinMilliseconds: 1_500) { wait.outcome != nil })
    wait.stop()
    #expect(eventually { wait.outcome == "stopped" }, "\(wait.outcome ?? "still waiting")")
    _ = consume mute
  }

  /// As a load balancer does while its brokers start: that is over without anybody's help.
  @Test func `a connection that is closed in the TLS handshake is waited out`() throws {
    let balancer = try RefusingBroker { _ in nil }
    var kafka = KafkaConfiguration(bootstrap: "127.0.0.1:\(balancer.port)", clientID: "test")
    kafka.common = [("security.protocol", "ssl")]
    let wait = try ClusterWaitThread(kafka)
    #expect(!eventually(withinMilliseconds: 3_500) { wait.outcome != nil })
    wait.stop()
    #expect(eventually { wait.outcome == "stopped" }, "\(wait.outcome ?? "still waiting")")
  }

  @Test(
    arguments: [
      (
        -181, "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading",
        true
      ),
      (-181, "SSL handshake failed: SSL transport error: Connection timed out", true),
      (-181, "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed", false),
      (-169, "SASL authentication error: wrong password", false),
    ] as [(Int32, String, Bool)])
  func `a wrong password and an unknown authority are final, a broken handshake is not`(
    code: Int32, message: String, isBroken: Bool
  ) {
    let error = KafkaError(code: code, message: message)
    #expect(error.isRefusal && error.isBrokenHandshake == isBroken)
  }

  @Test func `what answers in another protocol is not said to be silent`() throws {
    let web = try RefusingBroker { _ in Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8) }
    let wait = try ClusterWaitThread(
      KafkaConfiguration(bootstrap: "127.0.0.1:\(web.port)", clientID: "test"))
    defer { wait.stop() }
    #expect(
      eventually {
        wait.obstacles == ["what answers at --kafka is no Kafka broker that can be read"]
      }, "\(wait.obstacles)")
  }

  /// A sender that takes the controls for missing ignores every pause until it is restarted.
  @Test func `an optional topic that no broker answers for is not taken for missing`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let names = TopicNames(prefix: fixture.prefix)
    for topic in KafkaRights(of: .canary, names).topics + [names.controls] {
      try fixture.createTopic(String(topic.dropFirst(fixture.prefix.count)), partitions: 1)
    }
    fixture.broker?.setTopic(names.controls, fault: .requestTimedOut)
    let wait = try ClusterWaitThread(fixture.configuration, names, optional: [names.controls])
    defer { wait.stop() }
    #expect(!eventually(withinMilliseconds: 1_500) { wait.outcome != nil })
    fixture.broker?.setTopic(names.controls, fault: nil)
    #expect(eventually { wait.outcome == "found" }, "\(wait.outcome ?? "still waiting")")
  }

  @Test func `a broker that refuses the way to authenticate is an error that says so`() throws {
    let broker = try RefusingBroker()
    var kafka = KafkaConfiguration(bootstrap: "127.0.0.1:\(broker.port)", clientID: "test")
    kafka.common = [
      ("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "PLAIN"),
      ("sasl.username", "martlet"), ("sasl.password", "secret-word"),
    ]
    let wait = try ClusterWaitThread(kafka)
    defer { wait.stop() }
    #expect(eventually { wait.outcome != nil })
    let text = wait.outcome ?? "still waiting"
    #expect(text.contains("cannot start on Kafka at 127.0.0.1:\(broker.port)"), "\(text)")
    #expect(text.contains("Unsupported SASL mechanism"), "\(text)")
    #expect(!text.contains("secret-word"))
  }
}

/// A service's wait for its cluster, on a thread of its own.
private final class ClusterWaitThread {
  private final class Box: Sendable { let text = Mutex<String?>(nil) }

  private let context: ServiceContext
  private let box: Box

  init(
    _ kafka: KafkaConfiguration, _ names: TopicNames = TopicNames(), optional: [String] = []
  ) throws {
    let context = try ServiceContext.test()
    let box = Box()
    let thread = try LoopThread(name: "waits") {
      let text: String
      do throws(ServiceFailure) {
        let view = try ClusterView.wait(
          kafka, KafkaRights(of: .canary, names), optional: optional, of: names, context)
        text = view == nil ? "stopped" : "found"
      } catch {
        text = "\(error)"
      }
      box.text.withLock { $0 = text }
    }
    thread.detach()
    self.context = context
    self.box = box
  }

  /// How it ended; nil while it waits.
  var outcome: String? { box.text.withLock { $0 } }

  /// Why the service is not ready, but for its start.
  var obstacles: [String] {
    context.status.obstacles.filter { $0.condition != "start" }.map(\.reason)
  }

  func stop() { context.signals.requestStop() }
}

/// A Kafka broker that can say which requests it knows, and takes no way to authenticate but one.
private final class RefusingBroker {
  let port: UInt16
  private let stop: StopFlag

  private final class StopFlag: Sendable { let flag = Atomic(false) }

  /// - Parameter answer: to a request; nil closes the connection.
  init(
    _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]? = { RefusingBroker.refusal(to: $0) }
  ) throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    port = listener.localAddress!.port
    let descriptor = dup(listener.fd)
    let stop = StopFlag()
    self.stop = stop
    let thread = try LoopThread(name: "broker") {
      RefusingBroker.serve(descriptor, until: stop, answer)
    }
    thread.detach()
  }

  deinit { stop.flag.store(true, ordering: .releasing) }

  private static func serve(
    _ descriptor: Int32, until stop: StopFlag, _ answer: ([UInt8]) -> [UInt8]?
  ) {
    while !stop.flag.load(ordering: .acquiring) {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 20) > 0 else { continue }
      let connection = accept(descriptor, nil, nil)
      guard connection >= 0 else { continue }
      var request = [UInt8](repeating: 0, count: 4_096)
      // The client closes when it has read what it does not like.
      while read(connection, &request, request.count) >= 12 {
        guard let answer = answer(request) else { break }
        guard write(connection, answer, answer.count) == answer.count else { break }
      }
      close(connection)
    }
    close(descriptor)
  }

  /// A request is its size, kind and version, and a correlation id that the answer repeats.
  private static func refusal(to request: [UInt8]) -> [UInt8] {
    let isVersions = request[5] == 18
    let body: [UInt8] =
      switch (isVersions, request[7]) {
      // Error 0; SaslHandshake in versions 0 and 1, and this very request in version 0.
      case (true, 0): [0, 0, 0, 0, 0, 2, 0, 17, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0]
      // UNSUPPORTED_VERSION
      case (true, _): [0, 35, 0, 0, 0, 0]
      // UNSUPPORTED_SASL_MECHANISM, and the one that there is
      case (false, _): [0, 33, 0, 0, 0, 1, 0, 5] + Array("OTHER".utf8)
      }
    return [0, 0, 0, UInt8(body.count + 4)] + request[8..<12] + body
  }
}
