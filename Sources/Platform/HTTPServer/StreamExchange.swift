// SPDX-License-Identifier: Apache-2.0
public import Contract
import HTTP

public final class StreamExchange {
  let head: RequestHead
  private unowned let connection: ServerConnection
  /// The client's address: a numeric address. It is known also when the client has gone.
  public let client: String
  /// The owner's own, until `gone`.
  public var attachment: AnyObject?
  /// The sender of the request, once it is accepted: connections of accepted requests are not ended for newcomers
  /// without one.
  public var owner: ExactText?
  /// Whether the server has answered a request that its handler took, since there was no room for it.
  public internal(set) var isTurnedAway = false
  public private(set) var isPaused = false
  var response: HTTPResponse?
  /// Bytes that the owner holds in memory for it: the server adds them up.
  public var held = 0 {
    didSet { connection.server?.held += held - oldValue }
  }
  /// Bytes that the owner keeps in files for it, which the server adds up, too.
  public var stored = 0 {
    didSet { connection.server?.stored += stored - oldValue }
  }

  init(_ head: RequestHead, _ connection: ServerConnection) {
    self.head = head
    self.connection = connection
    client = connection.address
  }

  public var method: String { head.method }
  /// Without the query, percent-decoded.
  public var path: String { head.target.path }

  /// The value of a header field, whatever the case of its name.
  public func header(_ name: String) -> String? { head.field(name) }

  /// The value of an argument of the query, percent-decoded; nil without it.
  public func argument(_ name: String) -> String? { head.target.query(name) }

  /// An argument that the query has twice.
  public var repeatedArgument: String? { head.target.repeatedName }

  /// An argument of the query that is none of these.
  public func unknownArgument(besides known: [String]) -> String? {
    head.target.unknownName(besides: known)
  }

  /// Bytes of the body as its head announces them; nil for a body in chunks.
  public var announcedLength: Int? {
    if case .length(let count) = head.framing { count } else { nil }
  }

  /// Nothing more of it is read until it goes on.
  public func pause() { isPaused = true }

  /// Ends a pause.
  public func goOn() {
    guard isPaused else { return }
    isPaused = false
    connection.isPending = true
  }

  /// Answers a request whose body is complete.
  public func answer(_ response: HTTPResponse) {
    self.response = response
    isPaused = false
    connection.isPending = true
  }
}
