// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import HTTP2
import SenderDecisions
import ServiceKit
import Settings
import Telemetry

/// The sockets of one loop: pools and connections by the numbers that the `Dispatcher` gives them.
///
/// Owner: one sender loop.
final class GatewayPools {
  private let settings: SenderSettings
  private let log: Logger
  private let poller: Poller
  private let resolver: Resolver
  private let resolutions: Mailbox<Resolution>
  private var reports = GatewayReports()
  private let scratch = ConnectionScratch()
  private(set) var access: GatewayAccess
  private var pools: [GatewayPool?] = []
  /// What those that were removed have counted.
  private(set) var former = FormerAnswers()
  /// By pool, and in it by place.
  @exclusivity(unchecked) private var connections: [[GatewayConnection?]] = []
  /// Connections with something to write, and those where something has happened that no event of a socket tells.
  @exclusivity(unchecked) private var dirty: [GatewayConnection] = []
  private var eventful: [GatewayConnection] = []
  /// Connections to close at the end of the turn.
  private var closing: [GatewayConnection] = []

  /// - Parameter wakeup: signalled when a name was looked up.
  init(
    _ settings: SenderSettings, _ log: Logger, _ access: GatewayAccess, _ poller: Poller,
    _ wakeup: Wakeup
  ) throws {
    self.settings = settings
    self.log = log
    self.access = access
    self.poller = poller
    resolutions = Mailbox(wakeup: wakeup)
    resolver = try Resolver(answers: resolutions, hostsFile: settings.gatewayHosts)
  }

  /// A pool that is there.
  func pool(_ number: Int32) -> GatewayPool {
    guard let pool = pools[Int(number)] else { preconditionFailure("there is no such pool") }
    return pool
  }

  /// The connection with this name, unless it was closed.
  func connection(_ id: ConnectionID) -> GatewayConnection? {
    let places = connections[Int(id.pool)]
    return Int(id.index) < places.count ? places[Int(id.index)] : nil
  }

  /// The connection whose socket's events carry this token.
  func connection(ofToken token: UInt64) -> GatewayConnection? {
    connection(
      ConnectionID(
        pool: Int32(token >> 32) - 1, index: Int32(truncatingIfNeeded: token)))
  }

  /// Never 0, nor the greatest number.
  private static func token(of id: ConnectionID) -> UInt64 {
    UInt64(id.pool + 1) << 32 | UInt64(id.index)
  }

  // MARK: Pools

  func addPool(_ number: Int32, _ dispatcher: inout Dispatcher) {
    guard let pool = dispatcher.standing(ofPool: number) else { return }
    while pools.count <= Int(number) {
      pools.append(nil)
      connections.append([])
    }
    let name: String
    // Where the credential stands, which is the same in every loop, and not where the pool does.
    let place: Int
    switch pool.credential {
    case .token(let index):
      place = index
      name = dispatcher.credential(index)
    case .certificate(let index):
      place = index
      let certificate = access.certificates[index]
      name = certificate.certificate.commonName ?? certificate.path
    }
    pools[Int(number)] = GatewayPool(
      number: number, credential: name, isNamed: place < SenderMetrics.namedCredentials,
      kind: pool.kind, gateway: settings.gateway(pool.kind), tls: tls(of: pool.credential),
      proxy: settings.proxy, http2: settings.http2,
      indexesAuthorization: settings.indexesAuthorization)
  }

  func removePool(_ number: Int32) {
    guard let pool = pools[Int(number)] else { return }
    former.add(
      pool.accepted, refused: pool.refused, pool.isNamed ? pool.credential : FormerAnswers.other,
      pool.environment)
    pools[Int(number)] = nil
    connections[Int(number)] = []
  }

  private func tls(of credential: PoolCredential) -> TLSContext {
    switch credential {
    case .token: access.tls
    case .certificate(let index): access.certificateTLS[index]
    }
  }

  /// Certificates and roots were read again.
  ///
  /// - Returns: where each of the certificates that there were stands now; nil for one that is gone.
  func replaceAccess(_ access: GatewayAccess) -> [Int?] {
    let old = self.access
    self.access = access
    return old.certificates.map { certificate in
      access.certificates.firstIndex {
        $0.certificate.fingerprint == certificate.certificate.fingerprint
      }
    }
  }

  /// New connections of a pool are made with what was read last.
  func renewTLS(_ number: Int32, _ credential: PoolCredential) {
    pools[Int(number)]?.tls = tls(of: credential)
  }

  /// Looks a pool's gateway up.
  func lookUp(_ number: Int32, seed: UInt32) {
    let dialled = pool(number).dialled
    resolver.resolve(
      dialled.host, port: dialled.port, number: UInt64(number), seed: UInt64(seed))
  }

  /// The names that were looked up since the last call; nil: there is no address.
  func drainResolutions() -> [(pool: Int32, addresses: [PeerAddress]?)] {
    resolutions.drain().map { resolution in
      switch resolution.result {
      case .failure(let failure):
        let isProxy = pool(Int32(resolution.request)).proxy != nil
        report(
          isProxy ? .proxyUnresolved : .gatewayUnresolved, of: failure.host,
          error: failure.reason, [("host", .text(failure.host))])
        return (Int32(resolution.request), nil)
      case .success(let addresses): return (Int32(resolution.request), addresses.map(\.peer))
      }
    }
  }

  /// Logs what a thousand pools may have to tell at once: twice a minute for each gateway and error.
  func report(
    _ event: SenderLog, of gateway: String, error: String = "", _ fields: [LogEvent.Field]
  ) {
    let now = MonotonicClock.milliseconds()
    if let fields = reports.admit(event, of: gateway, error: error, fields, now: now) {
      log(event, fields)
    }
  }

  /// Logs what is not reported any more, now and then.
  ///
  /// - Parameter now: monotonic milliseconds.
  func upkeep(now: UInt64) {
    for fields in reports.drainEnded(now: now) { log(SenderLog.errorEnded, fields) }
  }

  // MARK: Connections

  /// Begins to connect. False when that is not even possible.
  func open(_ id: ConnectionID, to peer: PeerAddress) -> Bool {
    let pool = self.pool(id.pool)
    let address = SocketAddress(peer)
    do {
      let http = try HTTP2ClientConnection(
        poller: poller, token: Self.token(of: id), tls: pool.tls,
        serverName: settings.gatewayName ?? pool.gateway.host, implementation: settings.http2,
        scratch: scratch)
      let connection = GatewayConnection(http, id, pool: pool, address: address)
      set(connection, at: id)
      http.connect(to: address, through: pool.proxy)
      eventful.append(connection)
      return true
    } catch {
      report(
        .connectionNotOpened, of: "\(pool.gateway)", error: "\(error)",
        GatewayConnection.place(of: pool, at: address))
      return false
    }
  }

  /// A connection is over.
  func remove(_ id: ConnectionID) { set(nil, at: id) }

  /// Logs that a connection has ended otherwise than in order.
  ///
  /// - Parameter quiet: milliseconds since something happened on it.
  func report(_ failure: ConnectionFailure, of connection: GatewayConnection, quiet: UInt64) {
    let (event, fields) = connection.end(quiet: quiet)
    report(
      event, of: "\(connection.pool.gateway)", error: GatewayConnection.words(failure), fields)
  }

  private func set(_ connection: GatewayConnection?, at id: ConnectionID) {
    while connections[Int(id.pool)].count <= Int(id.index) { connections[Int(id.pool)].append(nil) }
    connections[Int(id.pool)][Int(id.index)] = connection
  }

  /// Submits a push's request. False when the connection has no stream for it.
  ///
  /// The table holds the connection meanwhile, and that what it has: counting references here took six atomic steps of
  /// each push.
  func send(_ push: UnsafeMutablePointer<Push>, on id: ConnectionID) -> Bool {
    guard let found = connections[Int(id.pool)][Int(id.index)] else { return false }
    return Unmanaged.passUnretained(found)._withUnsafeGuaranteedRef { connection in
      let exchange = UnsafeMutableRawPointer(push).assumingMemoryBound(to: Exchange.self)
      let isSubmitted = Unmanaged.passUnretained(connection.pool.headers)
        ._withUnsafeGuaranteedRef { headers in
          headers.fill(for: push, on: connection)
          return Unmanaged.passUnretained(connection.http)
            ._withUnsafeGuaranteedRef { $0.submit(headers.list, exchange) }
        }
      guard isSubmitted else { return false }
      connection.hasSent = true
      markDirty(connection)
      return true
    }
  }

  /// Gives a push's stream up.
  func reset(_ push: UnsafeMutablePointer<Push>, on id: ConnectionID) {
    guard let connection = connection(id) else { return }
    let exchange = UnsafeMutableRawPointer(push).assumingMemoryBound(to: Exchange.self)
    connection.http.reset(exchange, code: HTTP2ErrorCode.cancel)
    connection.hasReset = true
    markDirty(connection)
  }

  func ping(_ id: ConnectionID) {
    guard let connection = connection(id) else { return }
    connection.http.ping()
    markDirty(connection)
  }

  /// Gives up a connection that was not ready in time.
  func abandon(_ id: ConnectionID) {
    guard let connection = connection(id) else { return }
    connection.http.giveUp()
    eventful.append(connection)
  }

  /// Closes a connection at the end of the turn.
  func close(_ id: ConnectionID) {
    if let connection = connection(id) { closing.append(connection) }
  }

  /// The loop ends: every connection says GOAWAY and closes at the end of the turn.
  func closeAll() { closing += connections.joined().compactMap { $0 } }

  // MARK: The end of a turn

  /// Something is to be written; acknowledgements and window updates go out with it.
  func markDirty(_ connection: GatewayConnection) {
    guard !connection.isDirty else { return }
    connection.isDirty = true
    dirty.append(connection)
  }

  /// One write for each connection that has something to say.
  func flush() {
    guard !dirty.isEmpty else { return }
    let flushing = dirty
    dirty.removeAll(keepingCapacity: true)
    for connection in flushing {
      connection.isDirty = false
      connection.http.flush()
      // A reset stream completes with the write, which no event of the socket follows.
      if connection.hasReset || connection.http.isClosed {
        connection.hasReset = false
        eventful.append(connection)
      }
    }
  }

  /// The next connection where something has happened that no event of a socket tells; closes those that are to be
  /// closed.
  func nextEventful() -> GatewayConnection? {
    if let connection = eventful.popLast() { return connection }
    guard let connection = closing.popLast() else { return nil }
    connection.http.close()
    return connection
  }
}
