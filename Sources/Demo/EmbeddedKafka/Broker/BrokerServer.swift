// SPDX-License-Identifier: Apache-2.0
public import BrokerCore
public import EventLoop
import Synchronization

/// A single-node Kafka broker in this process, on its own thread. Safe to use from any thread.
public final class BrokerServer: Sendable {
  public struct Settings: Sendable {
    /// A numeric address to listen on.
    public var host = "127.0.0.1"
    /// The port of the first broker; the others use the following ones. 0 uses free ports.
    public var port: UInt16 = 0
    /// The host name announced to clients.
    public var advertised = "127.0.0.1"
    /// The number of brokers to simulate, numbered from 1.
    public var brokers = 1
    /// The folder for records and state; nil keeps them in memory.
    public var folder: String?
    /// The maximum size of records in memory, in bytes; further ones are rejected.
    public var memory = 1 << 30
    /// Whether each batch is synced to disk before it is acknowledged.
    public var syncs = false
    /// The maximum size of a request in bytes; a client that announces more is disconnected.
    public var largestRequest = 100 << 20
    /// The maximum size of buffered requests and responses of all clients, in bytes; beyond it connections are closed
    /// (`ClientLoad`).
    public var mostHeld = 128 << 20
    /// The maximum number of connections, if the process may open that many files; others are closed at once.
    public var mostConnections = 100_000
    public var node = Node.Options()
    /// The users and their rights.
    public var access = AccessControl()

    public init() {}
  }

  /// A task for the loop's thread.
  struct Order: Sendable {
    let body: @Sendable (ServerLoop) -> Void
  }

  /// `host:port[,host:port…]`.
  public let bootstrap: String
  /// The number of brokers.
  public let count: Int
  private let mailbox: Mailbox<Order>
  private let ended = Handover<Void>()

  /// Starts the broker; returns after it has read its folder.
  public init(_ settings: Settings = Settings()) throws(SystemError) {
    mailbox = Mailbox(wakeup: Wakeup())
    let (mailbox, ended) = (mailbox, ended)
    let started = Handover<Result<[Node.Broker], SystemError>>()
    let thread = try LoopThread(name: "broker") {
      Self.run(settings, mailbox, started)
      ended.put(())
    }
    thread.detach()
    let brokers = try started.take().get()
    count = brokers.count
    bootstrap = brokers.map { "\($0.host):\($0.port)" }.joined(separator: ",")
  }

  private static func run(
    _ settings: Settings, _ mailbox: Mailbox<Order>,
    _ started: Handover<Result<[Node.Broker], SystemError>>
  ) {
    do throws(SystemError) {
      let loop = try ServerLoop(settings, mailbox)
      started.put(.success(loop.node.brokers))
      loop.run()
    } catch {
      started.put(.failure(error))
    }
  }

  /// Returns when the port is free and the folder can be used by another broker.
  deinit {
    mailbox.post(Order { $0.stop() })
    ended.take()
  }

  /// Runs a task with the node on the loop's thread, and returns when it is done.
  @discardableResult
  public func withNode<R: Sendable>(
    _ body: @escaping @Sendable (inout Node, any LogStorage) -> R
  ) -> R {
    perform { body(&$0.node, $0.storage) }
  }

  /// Closes a broker's connections and refuses new ones, or listens again.
  public func setUp(_ isUp: Bool, broker: Int32) throws(SystemError) {
    try perform { loop in
      Result { () throws(SystemError) in try loop.setUp(isUp, broker: broker) }
    }.get()
  }

  /// Delays every response of a broker.
  public func setRoundTrip(milliseconds: Int64, broker: Int32) {
    perform { $0.setRoundTrip(milliseconds, broker: broker) }
  }

  private func perform<R: Sendable>(_ body: @escaping @Sendable (ServerLoop) -> R) -> R {
    let result = Handover<R>()
    mailbox.post(Order { result.put(body($0)) })
    return result.take()
  }
}
