// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import EventLoop
import Glibc

/// The broker's loop: sockets and time around a `Node`. Owned by one thread.
final class ServerLoop {
  /// Poller tokens: listeners by index, then this one, then connections.
  private static let wakeupToken: UInt64 = 1 << 32
  private static let firstConnection: UInt64 = 1 << 33
  /// The interval between checks of retention and compaction, in milliseconds.
  private static let upkeepInterval: Int64 = 1_000
  /// The idle time after which a connection is closed, in milliseconds.
  private static let idleMilliseconds: Int64 = 600_000
  /// The size from which stored records are sent from their file to the socket; smaller ones are copied.
  private static let leastSentFromFile = 8 << 10
  /// The time after which a connection without a complete request or authentication is closed, in milliseconds.
  private static let silentMilliseconds: Int64 = 30_000
  /// The time after which a connection is closed that was sent its last response, in milliseconds.
  private static let endingMilliseconds: Int64 = 100
  /// The maximum size of a request before authentication, in bytes.
  private static let largestUnauthenticated = 64 << 10
  /// The maximum number of requests in a connection's turn, and of response bytes.
  private static let mostRequests = 32
  private static let mostAnswered = 256 << 10
  /// The time for further turns, in milliseconds, after which new requests come first again.
  private static let turnsMilliseconds: Int64 = 5
  /// The number of files that are not connections: segments, the journal and others of the process.
  private static let otherFiles = 320

  var node: Node
  let storage: any LogStorage
  private let settings: BrokerServer.Settings
  private let mailbox: Mailbox<BrokerServer.Order>
  private let poller: Poller
  private var listeners: [Listener?]
  private var connections: [UInt64: Connection] = [:]
  private var nextConnection = firstConnection
  private let mostConnections: Int
  private var load: ClientLoad
  /// Connections with further requests, waiting for their next turn.
  private var ready: [Connection] = []
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
  private var compaction: (partition: TopicPartition, run: Compaction)?
  private var nextUpkeep: Int64 = 0
  /// The delay of each broker's responses, by broker id.
  private var delays: [Int32: Int64] = [:]
  private var isStopping = false

  /// Holds the listening socket of a broker.
  private final class Listener {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
    deinit { socket.stopListening() }
  }

  init(
    _ settings: BrokerServer.Settings, _ mailbox: Mailbox<BrokerServer.Order>
  ) throws(SystemError) {
    self.settings = settings
    self.mailbox = mailbox
    poller = try Poller()
    let files = OpenFileLimit.raise()
    mostConnections = max(64, min(settings.mostConnections, files - Self.otherFiles))
    load = ClientLoad(limit: settings.mostHeld)
    var brokers: [Node.Broker] = []
    listeners = []
    for number in 0..<settings.brokers {
      let port = settings.port == 0 ? 0 : settings.port + UInt16(number)
      let socket = try Socket.listening(on: Self.address(settings.host, port: port))
      let taken = socket.localAddress?.port ?? port
      brokers.append(.init(id: Int32(number) + 1, host: settings.advertised, port: taken))
      listeners.append(Listener(socket))
    }
    var generator = SystemRandomNumberGenerator()
    var options = settings.node
    options.checksum = Checksum.best
    node = Node(brokers: brokers, seed: generator.next(), options)
    node.access = settings.access
    if let folder = settings.folder {
      let files = try FileStorage(folder: folder, syncs: settings.syncs)
      try files.restore(&node, at: Self.now())
      storage = files
    } else {
      let memory = MemoryStorage()
      memory.capacity = settings.memory
      storage = memory
    }
    try poller.add(mailbox.wakeup.fd, token: Self.wakeupToken, .readable)
    for (place, listener) in listeners.enumerated() {
      try poller.add(listener!.socket.fd, token: UInt64(place), .readable)
    }
  }

  deinit { buffer.deallocate() }

  private static func address(_ host: String, port: UInt16) throws(SystemError) -> SocketAddress {
    guard let address = SocketAddress(numeric: host, port: port) else {
      throw SystemError(code: EINVAL, attempt: "cannot listen on \(host)")
    }
    return address
  }

  static func now() -> Moment {
    Moment(time: WallClock.milliseconds(), ticks: Int64(clamping: MonotonicClock.milliseconds()))
  }

  func run() {
    var events: [ReadyEvent] = []
    while !isStopping {
      poller.wait(timeoutMilliseconds: timeout(), into: &events)
      let now = Self.now()
      for event in events { handle(event, now) }
      serveReady(now)
      node.tick(at: now, storage)
      deliver(now)
      sendDue(now)
      if compaction != nil || now.ticks >= nextUpkeep { upkeep(now) }
    }
  }

  private func timeout() -> Int32 {
    if compaction != nil || !ready.isEmpty { return 0 }
    let now = Self.now().ticks
    var deadline = min(node.nextDeadline, nextUpkeep)
    if !delays.isEmpty {
      for connection in connections.values {
        deadline = min(deadline, connection.nextDue(now: now) ?? .max)
      }
    }
    return Int32(clamping: max(0, deadline - now))
  }

  private func handle(_ event: ReadyEvent, _ now: Moment) {
    if event.token == Self.wakeupToken {
      mailbox.wakeup.clear()
      for order in mailbox.drain() { order.body(self) }
    } else if event.token < Self.wakeupToken {
      accept(Int(event.token), now)
    } else if let connection = connections[event.token] {
      guard !(event.readable || event.hangup) || connection.receive(buffer, now: now.ticks) else {
        return close(connection, now)
      }
      attend(connection, now)
    }
  }

  // MARK: Connections

  private func accept(_ place: Int, _ now: Moment) {
    guard let listener = listeners[place] else { return }
    for _ in 0..<64 {
      guard let socket = try? listener.socket.accept() else { return }
      // A connection beyond the limit is closed at once: segments would lack file descriptors.
      guard connections.count < mostConnections else { continue }
      let connection = Connection(
        socket, ConnectionID(nextConnection), broker: Int32(place) + 1, now: now.ticks)
      nextConnection += 1
      let id = connection.id.number
      guard (try? poller.add(connection.descriptor, token: id, .readable)) != nil else { continue }
      connections[id] = connection
    }
  }

  private func close(_ connection: Connection, _ now: Moment) {
    poller.remove(connection.descriptor)
    connections[connection.id.number] = nil
    load.update(connection.id, bytes: 0, moved: now.ticks)
    node.disconnected(connection.id, at: now)
  }

  private func watch(_ connection: Connection, _ now: Moment) {
    load.update(connection.id, bytes: connection.held, moved: connection.moved)
    while let id = load.excess(at: now.ticks), let greedy = connections[id.number] {
      close(greedy, now)
    }
    guard connections[connection.id.number] != nil else { return }
    let wanted = connection.wanted(now: now.ticks)
    guard wanted != connection.interest else { return }
    connection.interest = wanted
    try? poller.modify(connection.descriptor, token: connection.id.number, wanted)
  }

  private func attend(_ connection: Connection, _ now: Moment) {
    serve(connection, now) ? watch(connection, now) : close(connection, now)
  }

  /// Handles the input and sends what is due. Returns false if the connection is over.
  private func serve(_ connection: Connection, _ now: Moment) -> Bool {
    let before = connection.answered
    for _ in 0..<Self.mostRequests where connection.answered - before < Self.mostAnswered {
      guard connection.mayHandle else { return connection.flush(now: now.ticks) }
      let isKnown = node.user(of: connection.id) != nil
      let largest = isKnown ? settings.largestRequest : Self.largestUnauthenticated
      switch connection.nextFrame(largest: largest) {
      case .tooLarge: return false
      case .incomplete: return connection.flush(now: now.ticks)
      case .frame(let frame): guard take(frame, connection, now) else { return false }
      }
      connection.endFrame()
    }
    if !connection.isReady {
      connection.isReady = true
      ready.append(connection)
    }
    return connection.flush(now: now.ticks)
  }

  /// Gives another turn to connections with more requests than one turn handles.
  private func serveReady(_ now: Moment) {
    let turns = ready
    ready = []
    let end = now.ticks + Self.turnsMilliseconds
    for (place, connection) in turns.enumerated() {
      guard Self.now().ticks <= end else {
        ready = turns[place...] + ready
        return
      }
      connection.isReady = false
      guard connections[connection.id.number] != nil else { continue }
      attend(connection, now)
    }
  }

  private func take(_ frame: ArraySlice<UInt8>, _ connection: Connection, _ now: Moment) -> Bool {
    let request: Request
    do {
      request = try Request(frame)
    } catch .unknownVersions(let correlation) {
      guard case .fields(let fields) = Node.versions else { return false }
      let error = Value.Field(name: "Error", value: .number(ErrorCode.unsupportedVersion.rawValue))
      answer(
        .fields(fields + [error]),
        .init(api: API.numbered(18)!, version: 0, correlation: correlation), connection, now)
      return true
    } catch {
      return false
    }
    let open = Connection.Open(
      api: request.api, version: request.version, correlation: request.correlation,
      size: frame.count)
    let caller = Caller(connection.id, broker: connection.broker, host: connection.host)
    switch node.handle(request, from: caller, at: now, storage) {
    case .answer(let body): answer(body, open, connection, now)
    case .farewell(let body):
      connection.isEnding = true
      answer(body, open, connection, now)
    case .later: connection.open = open
    case .silent: break
    case .close: return false
    }
    return true
  }

  private func answer(
    _ body: Value, _ open: Connection.Open, _ connection: Connection, _ now: Moment
  ) {
    let (storage, files) = (storage, storage as? FileStorage)
    let message = Request.answer(
      body, to: open.api, version: open.version, correlation: open.correlation
    ) { range, output in
      guard files == nil || range.range.count < Self.leastSentFromFile else { return false }
      storage.read(range, into: &output)
      return true
    }
    connection.send(message, { files?.file($0) }, due: now.ticks + (delays[connection.broker] ?? 0))
  }

  /// Sends due responses and handles further input of their connections, which may complete others.
  private func deliver(_ now: Moment) {
    while true {
      let replies = node.takeReplies(storage)
      if replies.isEmpty { return }
      // All are written before further input is handled: it may delete the records of one of them.
      var answered: [Connection] = []
      for reply in replies {
        guard let connection = connections[reply.connection.number], let open = connection.open
        else { continue }
        connection.open = nil
        answer(reply.body, open, connection, now)
        answered.append(connection)
      }
      for connection in answered where connections[connection.id.number] != nil {
        attend(connection, now)
      }
    }
  }

  private func sendDue(_ now: Moment) {
    guard !delays.isEmpty else { return }
    for connection in connections.values { attend(connection, now) }
  }

  // MARK: Upkeep

  private func upkeep(_ now: Moment) {
    if let (partition, last) = compaction {
      var run = last
      compaction = nil
      if node.step(&run, partition, storage) { compaction = (partition, run) }
    }
    guard now.ticks >= nextUpkeep else { return }
    nextUpkeep = now.ticks + Self.upkeepInterval
    node.retain(at: now, storage)
    if compaction == nil { compaction = node.compaction(at: now) }
    if let files = storage as? FileStorage, files.isJournalLong {
      try? files.rewriteJournal(node.journal)
    }
    for connection in connections.values {
      connection.rest(now: now.ticks)
      guard connection.open == nil else { continue }
      let isKnown = connection.hasAsked && node.user(of: connection.id) != nil
      let isEnding = connection.isEnding
      let since = isKnown || isEnding ? connection.heard : connection.began
      let limit = isKnown ? Self.idleMilliseconds : Self.silentMilliseconds
      if now.ticks - since > (isEnding ? Self.endingMilliseconds : limit) { close(connection, now) }
    }
  }

  // MARK: Orders

  func stop() {
    isStopping = true
    connections = [:]
    // Pending events of this poll may refer to a listener's index.
    for place in listeners.indices { listeners[place] = nil }
  }

  /// Delays every response of a broker.
  func setRoundTrip(_ milliseconds: Int64, broker: Int32) { delays[broker] = milliseconds }

  /// Closes a broker's connections and refuses new ones, or listens again; the data is kept.
  func setUp(_ isUp: Bool, broker: Int32) throws(SystemError) {
    let place = Int(broker) - 1
    guard listeners.indices.contains(place) else { return }
    if isUp {
      guard listeners[place] == nil else { return }
      let listener = Listener(
        try Socket.listening(
          on: Self.address(settings.host, port: node.brokers[place].port)))
      listeners[place] = listener
      try poller.add(listener.socket.fd, token: UInt64(place), .readable)
      return
    }
    if let listener = listeners[place] { poller.remove(listener.socket.fd) }
    listeners[place] = nil
    for connection in connections.values where connection.broker == broker {
      close(connection, Self.now())
    }
  }
}
