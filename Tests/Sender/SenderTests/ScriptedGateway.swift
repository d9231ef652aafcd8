// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Synchronization
import TestSupport

/// A gateway over real TLS and HTTP/2 that does what a test says, request by request: one listener on one address, on
/// a thread of its own.
final class ScriptedGateway: Sendable {
  /// What the script may do to a connection.
  struct Peer {
    let number: Int
    let http: HTTP2ServerConnection
  }

  struct Script: Sendable {
    var limit: UInt32 = 1_000
    /// After the handshake, before anything is sent: SETTINGS are still queued.
    var connected: @Sendable (Peer) -> Void = { _ in }
    var reply: @Sendable (Peer, GatewayRecord.Request) -> GatewayReply = { _, _ in .answer(200) }
    /// Called some hundred times per second for each connection.
    var tick: @Sendable (Peer) -> Void = { _ in }
    /// The listener takes connections; they wait unanswered otherwise.
    var accepts = true
    /// Without it every connection is closed, and new ones are refused.
    var listens = true
  }

  let address: SocketAddress
  /// The PEM file of its own authority; nil when its identity was given.
  let roots: String?
  private let shared: Shared
  private nonisolated(unsafe) let folder: TemporaryFolder?
  private nonisolated(unsafe) var thread: LoopThread?

  /// What the thread shares with the test; it may outlive the gateway by a moment.
  final class Shared: Sendable {
    let record = Mutex(GatewayRecord())
    let script: Mutex<Script>
    let isStopping = Atomic(false)
    /// What is held is answered so.
    let release = Mutex<GatewayReply.Answer?>(nil)

    init(_ script: Script) { self.script = Mutex(script) }
  }

  /// - Parameter address: port 0 takes a free one.
  convenience init(
    _ identity: TLSIdentity, on address: SocketAddress = .loopback(port: 0),
    clientTrust: ClientTrust? = nil, _ script: Script = Script()
  ) throws {
    try self.init(identity, nil, on: address, clientTrust, script)
  }

  /// With an authority of its own, on the loopback.
  ///
  /// - Parameters:
  ///   - streams: the limit of each connection.
  ///   - port: 0 takes a free one, which somebody else may have once the gateway does not listen for a while.
  convenience init(
    streams: UInt32 = 1_000, port: UInt16 = 0,
    _ reply: @escaping @Sendable (GatewayRecord.Request) -> GatewayReply = { _ in .accepted() }
  ) throws {
    let authority = try CertificateAuthority()
    let issued = try authority.issueServer()
    let folder = TemporaryFolder()
    try File.write(folder.file("root.pem"), authority.certificatePEM)
    try self.init(
      TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM), folder,
      on: .loopback(port: port), nil, Script(limit: streams, reply: { reply($1) }))
  }

  private init(
    _ identity: TLSIdentity, _ folder: TemporaryFolder?, on address: SocketAddress,
    _ clientTrust: ClientTrust?, _ script: Script
  ) throws {
    let listener = try Socket.listening(on: address)
    let bound = listener.localAddress ?? address
    self.address = bound
    self.folder = folder
    roots = folder?.file("root.pem")
    let shared = Shared(script)
    self.shared = shared
    let tls = try TLSContext.server(identity: identity, clientTrust: clientTrust)
    let fd = Handover(listener)
    thread = nil
    thread = try LoopThread(name: "gateway") {
      guard let socket = fd.take() else { return }
      try? ScriptedGatewayLoop(shared, tls, bound).serve(socket)
    }
  }

  deinit { stop() }

  func stop() {
    shared.isStopping.store(true, ordering: .releasing)
    thread.take()?.join()
  }

  var seen: GatewayRecord { shared.record.withLock { $0 } }
  /// Every push so far, in the order of arrival.
  var requests: [GatewayRecord.Request] { shared.record.withLock { $0.requests } }
  /// How many pushes have come in.
  var count: Int { shared.record.withLock { $0.requests.count } }

  func change(_ change: @Sendable (inout Script) -> Void) { shared.script.withLock { change(&$0) } }

  /// Answers otherwise from now on.
  func answer(by reply: @escaping @Sendable (GatewayRecord.Request) -> GatewayReply) {
    change { $0.reply = { reply($1) } }
  }

  /// Answers what is held, now: the gateway hung, and has recovered.
  func answerHeld(_ status: Int = 200, _ body: String = "") {
    shared.release.withLock { $0 = GatewayReply.Answer(status: status, body: body) }
  }

  /// Closes every connection and refuses new ones, or takes them again.
  func listen(_ listens: Bool) { change { $0.listens = listens } }
}
