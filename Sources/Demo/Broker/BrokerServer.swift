// SPDX-License-Identifier: Apache-2.0
public import BrokerCore
public import Bytes
import EventLoop
import Synchronization

/// A Kafka broker of one node in this process, with a thread of its own. Safe to use from any thread.
public final class BrokerServer: Sendable {
  public struct Settings: Sendable {
    /// A numeric address to listen on.
    public var host = "127.0.0.1"
    /// Of the first broker; the others have the next ones. 0 takes free ones.
    public var port: UInt16 = 0
    /// The host that clients are told.
    public var advertised = "127.0.0.1"
    /// Brokers that it pretends to be, numbered from 1.
    public var brokers = 1
    /// Where records and state are kept; nil keeps them in memory.
    public var folder: String?
    /// Bytes of records that are kept where there is no folder; then more are refused.
    public var memory = 1 << 30
    /// Brings each batch to the disk before it is acknowledged.
    public var syncs = false
    /// Bytes of a request; whoever announces more is disconnected.
    public var largestRequest = 100 << 20
    /// Bytes of requests and answers that all clients together make it hold; beyond, connections are closed
    /// (`ClientLoad`).
    public var mostHeld = 128 << 20
    /// Connections, if the process may have that many files open; others are closed at once.
    public var mostConnections = 100_000
    public var node = Node.Options()
    /// Who may do what.
    public var access = AccessControl()

    public init() {}
  }

  /// Something to do on the loop's thread.
  struct Order: Sendable {
    let body: @Sendable (ServerLoop) -> Void
  }

  /// `host:port[,host:port…]`.
  public let bootstrap: String
  /// The number of brokers.
  public let count: Int
  private let mailbox: Mailbox<Order>
  private let ended = Handover<Void>()

  /// Starts the broker; it has read what is in its folder when this returns.
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

  /// Returns when the port is free and the folder another's.
  deinit {
    mailbox.post(Order { $0.stop() })
    ended.take()
  }

  /// Does something with the node on the loop's thread, and returns when it is done.
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

  /// Delays every answer of a broker.
  public func setRoundTrip(milliseconds: Int64, broker: Int32) {
    perform { $0.setRoundTrip(milliseconds, broker: broker) }
  }

  private func perform<R: Sendable>(_ body: @escaping @Sendable (ServerLoop) -> R) -> R {
    let result = Handover<R>()
    mailbox.post(Order { result.put(body($0)) })
    return result.take()
  }
}
