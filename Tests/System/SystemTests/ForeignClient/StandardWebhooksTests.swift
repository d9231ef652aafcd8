// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Kafka
import Records
import TestSupport
import Testing
import WebhookDelivery

/// `martlet-webhooks` as a process, and an HTTPS endpoint in Python that verifies with the package `standardwebhooks`.
@Suite("Webhooks and Python's standardwebhooks", .serialized)
final class StandardWebhooksTests {
  private static let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

  private let folder = TemporaryFolder()
  private let fixture: KafkaFixture
  private let producer: KafkaProducer
  private var produced = 0

  init() throws {
    fixture = try KafkaFixture(topics: [("receipts", 1), ("dead-letters", 1)], embedded: true)
    producer = try KafkaProducer(fixture.configuration)
    let authority = try CertificateAuthority()
    let issued = try authority.issueServer()
    try issued.write(certificate: folder.file("server.pem"), key: folder.file("server-key.pem"))
    try File.write(folder.file("root.pem"), authority.certificatePEM)
  }

  deinit { producer.close() }

  // MARK: Processes

  private func endpoint(
    port: UInt16? = nil, secret: String = secret
  ) throws -> (program: BuiltProgram, port: UInt16) {
    let port = try port ?? FreePort.find()
    try? File.remove(folder.file("address"))
    let program = try PythonScript.start(
      "receive_webhooks.py",
      [
        "--secret", secret, "--log", folder.file("log"), "--address", folder.file("address"),
        "--port", "\(port)", "--certificate", folder.file("server.pem"), "--key",
        folder.file("server-key.pem"),
      ], in: folder)
    let text = program.announcement(in: folder.file("address"))
    return (program, try #require(text.flatMap { UInt16($0) }, "\(program.output)"))
  }

  /// - Parameter root: a certificate that stands alone in the system's folder of trusted roots.
  private func webhooks(
    to port: UInt16, secrets: [String] = [secret], trustedBySystem root: String? = nil
  ) throws -> BuiltProgram {
    let file = folder.file("subscriptions.json")
    let texts = secrets.map { "\"\($0)\"" }.joined(separator: ",")
    let entry = """
      [{"name":"crm","url":"https://localhost:\(port)/hook","secrets":[\(texts)],\
      "events":["notification.*"],"max_events":10,"linger_ms":0,"timeout_ms":2000}]
      """
    try File.write(file, Array(entry.utf8), mode: 0o600)
    let arguments = [
      "--kafka", fixture.configuration.bootstrap, "--topic-prefix", fixture.prefix,
      "--subscriptions", file, "--endpoint-roots", folder.file("root.pem"),
      "--kafka.consumer.session.timeout.ms=4000", "--kafka.consumer.heartbeat.interval.ms=500",
      // The embedded broker forgets a member whose session ends while it waits to join; it asks again after this.
      "--kafka.consumer.max.poll.interval.ms=10000",
    ]
    guard let root else { return try BuiltProgram.start("martlet-webhooks", arguments, in: folder) }
    let script = """
      mkdir roots-of-system && cp "$1" roots-of-system/root.pem && openssl rehash roots-of-system \
        && cp "$1" roots-of-system/ca-certificates.crt && mount --bind roots-of-system /etc/ssl/certs \
        && shift && exec "$@"
      """
    return try BuiltProgram.start(
      path: "/usr/bin/unshare",
      [
        "-rm", "bash", "-c", "cd '\(folder.path)' && \(script)", "bash", root,
        ChildProcess.sibling("martlet-webhooks"),
      ]
        + arguments, in: folder)
  }

  // MARK: What is sent and what arrives

  private func produce(_ count: Int) throws {
    let topic = try producer.topic(named: fixture.name("receipts"))
    for _ in 0..<count {
      let receipt =
        #"{"outcome":"delivered","id":"n-\#(produced)","app":"com.example.app","at":1795000000045}"#
      try fixture.produce(producer, topic, key: nil, value: receipt)
      produced += 1
    }
  }

  private func lines() -> [JSONValue] {
    let text = try? File.text(folder.file("log"))
    return (text ?? "").split(separator: "\n").compactMap { try? JSONDocument(String($0)).root }
  }

  /// The events of all requests whose signature holds, in the order of their arrival.
  private func events() -> [JSONValue] { lines().flatMap { $0["batch"]?["data"]?.array ?? [] } }

  /// What a receiver has that forgets events whose id it has seen.
  private func distinct() -> [String] {
    var seen: Set<String> = []
    return events().filter { seen.insert($0["id"]?.string ?? "").inserted }
      .compactMap { $0["data"]?["id"]?.string }
  }

  private func arrive(_ count: Int) -> Bool {
    eventually(pauseMilliseconds: 50) { distinct().count >= count }
  }

  // MARK: Tests

  @Test func `SIGKILL and an outage of the endpoint lose nothing, and nothing changes its order`()
    throws
  {
    var (receiver, port) = try endpoint()
    var sender = try webhooks(to: port)
    try produce(50)
    #expect(arrive(50), "\(sender.output) \(receiver.output)")
    for _ in 0..<2 {
      try produce(100)
      sender.signal(SIGKILL)
      #expect(sender.wait() != nil)
      sender = try webhooks(to: port)
      // The endpoint is away while the process comes back.
      _ = receiver.stop()
      try produce(50)
      #expect(
        sender.prints(WebhooksLog.endpointFails), "\(sender.output)")
      (receiver, port) = try endpoint(port: port)
      #expect(arrive(produced), "\(distinct().count) of \(produced): \(sender.output)")
    }
    #expect(distinct() == (0..<produced).map { "n-\($0)" })
    #expect(lines().allSatisfy { $0["invalid"] == nil })
    // The same request again is known by its webhook-id.
    let batches = Dictionary(grouping: lines(), by: { $0["webhook_id"]?.string ?? "" })
    for same in batches.values { #expect(Set(same.map { "\($0)" }).count == 1) }
    #expect(sender.stop() == 0, "\(sender.output)")
  }

  @Test func `while a secret is replaced, both the old and the new one verify`() throws {
    let new = "whsec_bmV3IHNlY3JldCBvZiAzMiBieXRlcyBpbiBiYXNlNjQ="
    for (number, secret) in [Self.secret, new].enumerated() {
      let (receiver, port) = try endpoint(secret: secret)
      let sender = try webhooks(to: port, secrets: [new, Self.secret])
      try produce(1)
      #expect(arrive(number + 1), "\(sender.output) \(lines())")
      #expect(sender.stop() == 0)
      _ = receiver.stop()
    }
    #expect(lines().allSatisfy { $0["invalid"] == nil })
  }

  @Test func `the ten lines of the documentation verify what is signed, and nothing else`() throws {
    let page = try Repository.text("docs/webhooks.md")
    let start = try #require(page.firstRange(of: "```python\nimport base64"))
    let code = page[start.lowerBound...].dropFirst("```python\n".count)
    let end = try #require(code.firstRange(of: "```"))
    let key = try #require(WebhookSignature.key(Self.secret))
    let now = Int64(time(nil))
    func call(_ body: String, at timestamp: Int64) -> String {
      let signature = WebhookSignature.header(
        id: "msg_1", timestamp: timestamp, body: Array("good".utf8),
        keys: [Array(repeating: 1, count: 32), key])
      return """
        print(verify("\(Self.secret)", {"webhook-id": "msg_1", "webhook-timestamp": "\(timestamp)",
                     "webhook-signature": "\(signature)"}, b"\(body)"))

        """
    }
    let script = folder.file("verify.py")
    let calls = call("good", at: now) + call("bad", at: now) + call("good", at: now - 600)
    try File.write(script, Array((code[..<end.lowerBound] + "\n" + calls).utf8))
    let run = try BuiltProgram.run("/usr/bin/env", ["python3", "-B", script], in: folder)
    #expect(run.output == "True\nFalse\nFalse\n", "\(run.output)")
  }

  /// Whether a process may have mounts of its own here; where it may not, the system's roots are not tried.
  private static let canMount =
    (try? BuiltProgram.run("/usr/bin/unshare", ["-rm", "true"], in: TemporaryFolder()))?.status == 0

  @Test(arguments: canMount ? [false, true] : [false])
  func `an endpoint whose certificate does not hold by the given roots gets nothing`(
    isTrustedBySystem: Bool
  ) throws {
    let (receiver, port) = try endpoint()
    let real = folder.file("real.pem")
    try File.write(real, try File.read(folder.file("root.pem")))
    try File.write(folder.file("root.pem"), try CertificateAuthority().certificatePEM)
    // The system's folder of roots, for this process only.
    let sender = try webhooks(to: port, trustedBySystem: isTrustedBySystem ? real : nil)
    try produce(1)
    #expect(sender.prints(WebhooksLog.endpointFails))
    #expect(lines().isEmpty)
    #expect(sender.stop() == 0, "\(sender.output)")
    _ = receiver.stop()
  }
}
