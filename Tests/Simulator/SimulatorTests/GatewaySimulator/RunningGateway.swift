// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import HTTPClient
import Records
import ServiceKit
import TestSupport
import Testing

/// A simulator in this process, on free ports, with one key.
final class RunningGateway {
  let simulator: Simulator
  let key: TestKey
  let rootPath: String
  let root: [UInt8]
  /// Issues client certificates that the gateway trusts.
  let authority: CertificateAuthority
  private let folder = TemporaryFolder()
  private let context: ServiceContext

  /// - Parameter more: flags beside those that every gateway needs.
  init(flags more: [String] = [], _ change: (inout SimulatorSettings) -> Void = { _ in }) throws {
    key = try TestKey()
    authority = try CertificateAuthority()
    root = authority.certificatePEM
    rootPath = folder.file("root.pem")
    try File.write(rootPath, root)
    try authority.issueServer().write(
      certificate: folder.file("cert.pem"), key: folder.file("key.pem"))
    try File.write(folder.file("key.pub"), try key.key.publicKey.pem())
    let keys: JSONValue = [
      "keys": [
        [
          "key_id": .string(key.id), "team_id": .string(key.team), "apps": ["*"],
          "environment": "any", "public_key_file": "key.pub",
        ]
      ]
    ]
    try File.write(folder.file("keys.json"), keys.text)
    context = try SimulatorService.context(
      [
        "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--keys", folder.file("keys.json"),
        "--certificate", folder.file("cert.pem"), "--certificate-key", folder.file("key.pem"),
        "--client-roots", rootPath,
      ] + more)
    var settings = try SimulatorSettings(context.values)
    change(&settings)
    simulator = try Simulator(settings, context)
  }

  deinit {
    stop()
    simulator.wait()
  }

  func stop() { context.signals.requestStop() }

  /// Switches a behaviour while it runs.
  func set(_ name: String, _ value: String) throws {
    let answer = try admin("PUT", "/profile", #"{"\#(name)":"\#(value)"}"#)
    try #require(answer == "{\"accepted\":1}\n", "\(answer)")
  }

  /// Makes the gateway know another key, or something else about one.
  func declare(_ key: TestKey, _ more: [(String, JSONValue)] = []) throws {
    let pem = String(decoding: try key.key.publicKey.pem(), as: UTF8.self)
    var entry = JSONObject()
    entry.append("key_id", .string(key.id))
    entry.append("team_id", .string(key.team))
    entry.append("public_key", .string(pem))
    for (name, value) in more { entry.append(name, value) }
    let body = JSONValue.array([.object(entry)])
    let answer = try admin("PUT", "/keys", String(decoding: body.text, as: UTF8.self))
    try #require(answer == "{\"accepted\":1}\n", "\(answer)")
  }

  /// A document that the admin API answers.
  func json(_ path: String) throws -> JSONValue { try JSONDocument(try admin("GET", path)).root }

  /// Documents that stand in lines.
  func jsonLines(_ path: String) throws -> [JSONValue] {
    try admin("GET", path).split(separator: "\n").map { try JSONDocument(String($0)).root }
  }

  /// Calls the admin API and returns the answer's text.
  func admin(_ method: String, _ path: String, _ body: String = "") throws -> String {
    let url = "http://127.0.0.1:\(simulator.adminPort)\(path)"
    let client = HTTPClient()
    switch method {
    case "PUT": return try client.put(url, Array(body.utf8)).text
    case "DELETE": return try client.delete(url).text
    case "POST": return try client.post(url, Array(body.utf8)).text
    default: return try client.get(url).text
    }
  }
}

/// One connection to it, turned by hand.
final class GatewayClient {
  struct Answer {
    let status: UInt16
    let body: String
    let hasUniqueID: Bool
  }

  let connection: HTTP2ClientConnection
  let push: PushText
  private(set) var notices: [ConnectionNotice] = []
  /// It runs for as long as it has a client.
  private let gateway: RunningGateway
  private let poller: Poller
  private var memory: [UnsafeMutableRawBufferPointer] = []
  private var exchanges: [UnsafeMutablePointer<Exchange>] = []

  /// Connects to `address` (the gateway's first one unless told), shows `issued` as its certificate,
  /// and waits for the SETTINGS, unless they are not to be expected.
  init(
    _ gateway: RunningGateway, at address: SocketAddress? = nil,
    showing issued: IssuedCertificate? = nil, roots: [UInt8]? = nil,
    identity: TLSIdentity? = nil, settings: SessionSettings = SessionSettings(),
    expectsSettings: Bool = true, http2: HTTP2Implementation = .engine
  ) throws {
    self.gateway = gateway
    poller = try Poller()
    push = PushText(token: try gateway.key.token(issuedAt: WallClock.seconds()))
    let shown = issued.map { TLSIdentity(certificates: $0.certificatePEM, key: $0.keyPEM) }
    let tls = try TLSContext.client(roots: .pem(roots ?? gateway.root), identity: identity ?? shown)
    connection = try HTTP2ClientConnection(
      poller: poller, token: 1, tls: tls, serverName: "localhost", implementation: http2,
      settings: settings)
    connection.connect(to: address ?? gateway.simulator.address)
    if expectsSettings { try wait { !self.limits.isEmpty } }
  }

  /// The words of the GOAWAY frames that came.
  var farewells: [String] { goAways.map(\.debug) }

  deinit {
    connection.close()
    for exchange in exchanges {
      exchange.pointee.response?.deallocate()
      exchange.deallocate()
    }
    for bytes in memory { bytes.deallocate() }
  }

  /// The stream limits that the gateway has announced.
  var limits: [UInt32] {
    notices.compactMap { if case .settings(let limit) = $0 { limit } else { nil } }
  }

  func send(_ push: PushText) throws -> Answer {
    let exchange = begin(push)
    try wait { exchange.pointee.fate != .pending }
    return Answer(
      status: exchange.pointee.status,
      body: String(decoding: exchange.pointee.responseBytes, as: UTF8.self),
      hasUniqueID: exchange.pointee.hasUniqueID)
  }

  /// Sends a push and does not wait for its answer.
  func begin(_ push: PushText) -> UnsafeMutablePointer<Exchange> { begin(push, times: 1)[0] }

  /// Sends so many with one write, so that the gateway has all of them before it answers the first.
  func begin(_ push: PushText, times count: Int) -> [UnsafeMutablePointer<Exchange>] {
    let exchanges = (0..<count).map { _ in submit(push) }
    connection.flush()
    return exchanges
  }

  private func submit(_ push: PushText) -> UnsafeMutablePointer<Exchange> {
    var headers = HeaderList()
    for field in push.fields {
      guard let name = Self.names[field.name] else { continue }
      headers.append(name, keep(field.value))
    }
    let exchange = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
    exchange.initialize(to: Exchange())
    exchange.pointee.response = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
    exchange.pointee.responseCapacity = 512
    let body = keep(String(decoding: push.body, as: UTF8.self))
    exchange.pointee.body = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    exchange.pointee.bodyCount = UInt32(body.count)
    exchanges.append(exchange)
    let isTaken = connection.submit(headers, exchange)
    #expect(isTaken)
    return exchange
  }

  /// Turns the connection for a while, whatever happens.
  func pass(milliseconds: UInt64) throws {
    let end = MonotonicClock.milliseconds() + milliseconds
    try wait { MonotonicClock.milliseconds() >= end }
  }

  /// Turns the connection until `isDone`, at most for a minute.
  func wait(_ isDone: () throws -> Bool) throws {
    let end = MonotonicClock.milliseconds() + 60_000
    var events: [ReadyEvent] = []
    while try !isDone() {
      try #require(MonotonicClock.milliseconds() < end, "nothing happened for a minute")
      poller.wait(timeoutMilliseconds: 10, into: &events)
      for event in events {
        connection.socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
      }
      connection.flush()
      notices += connection.drainNotices()
    }
    notices += connection.drainNotices()
  }

  private func keep(_ text: String) -> UnsafeRawBufferPointer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
    bytes.copyBytes(from: text.utf8)
    memory.append(bytes)
    return UnsafeRawBufferPointer(bytes)
  }

  private static let names: [String: StaticString] = [
    ":method": ":method", ":scheme": ":scheme", ":authority": ":authority", ":path": ":path",
    "authorization": "authorization", "apns-topic": "apns-topic",
    "apns-push-type": "apns-push-type", "apns-priority": "apns-priority",
    "apns-expiration": "apns-expiration", "apns-id": "apns-id",
    "apns-collapse-id": "apns-collapse-id", "apns-channel-id": "apns-channel-id",
    "apns-request-id": "apns-request-id",
  ]
}
