// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import HTTP2
import Pipeline
import Settings
import TLS

/// The connections of one loop that carry the pushes of one credential to one gateway.
///
/// APNs ties a connection to the team and key of its first push or to its client certificate, so that is what
/// connections are pooled by.
final class GatewayPool {
  let index: Int32
  /// The pool as `Fairness` knows it.
  var destination: Int32 { index + 1 }
  /// The credential's id, for the log.
  let credential: String
  let kind: GatewayKind
  var environment: Environment { kind.environment }
  let gateway: Endpoint
  /// The HTTP proxy that connections go through, if any.
  let proxy: ProxyRequest?
  /// What is looked up and connected to: the proxy or the gateway itself.
  let dialled: Endpoint
  let authentication: ConnectionStateMachine.Authentication
  /// For the next connection; replaced when certificates or roots are read again.
  var tls: TLSContext
  /// Where connections go, and which addresses have failed.
  var addresses = AddressBook<SocketAddress>()
  /// Of the client certificate, if it is one's.
  var fingerprint: String?
  /// Its credential is gone: what waits here belongs elsewhere, and its connections drain.
  var isRetired = false
  /// The newest provider token, nil while there is none that may be sent.
  var authorization: Authorization?
  @exclusivity(unchecked) var connections: [GatewayConnection] = []
  /// Names being looked up for a connection to come.
  var lookups = 0
  /// Something goes on: it is looked at in each upkeep, not once a second only.
  @exclusivity(unchecked) var isActive = false
  /// Monotonic milliseconds of the next look if it is calm until then.
  @exclusivity(unchecked) var lookAt: UInt64 = 0
  /// Something has changed since pushes were last dispatched.
  @exclusivity(unchecked) var isTouched = false
  /// Pushes that wait for stream credit, and what is known of how the gateway takes them.
  @exclusivity(unchecked) var waiting: SendQueue
  /// Pushes that failed where all free connections lead, until there is another one.
  @exclusivity(unchecked) var apart = SlotQueue()
  /// Answers of APNs: 200, and others.
  @exclusivity(unchecked) var accepted = 0
  @exclusivity(unchecked) var refused = 0
  /// Monotonic milliseconds of the last answer on any of its connections.
  @exclusivity(unchecked) var lastAnswer: UInt64 = 0
  @exclusivity(unchecked) var policy: ConnectionPoolPolicy
  /// Header fields; the first three are the same for all requests.
  @exclusivity(unchecked) var headers = HeaderList()
  private let authority: UnsafeMutableRawBufferPointer

  static let sharedHeaders = 3

  init(
    index: Int32, credential: String, kind: GatewayKind, gateway: Endpoint, tls: TLSContext,
    authentication: ConnectionStateMachine.Authentication = .providerToken,
    proxy: SenderProxy? = nil, limits: ConnectionPoolPolicy.Limits,
    waiting: SendQueue = SendQueue()
  ) {
    self.waiting = waiting
    self.index = index
    self.credential = credential
    self.kind = kind
    self.gateway = gateway
    self.tls = tls
    self.authentication = authentication
    self.proxy = proxy.map {
      ProxyRequest(host: gateway.host, port: gateway.port, credentials: $0.credentials)
    }
    dialled = proxy?.endpoint ?? gateway
    policy = ConnectionPoolPolicy(limits: limits)
    let name = gateway.port == 443 ? gateway.host : gateway.description
    authority = .allocate(byteCount: name.utf8.count, alignment: 1)
    authority.copyBytes(from: Array(name.utf8))
    headers.append(":method", "POST" as StaticString)
    headers.append(":scheme", "https" as StaticString)
    headers.append(":authority", UnsafeRawBufferPointer(authority))
  }

  deinit { authority.deallocate() }

  /// Streams that may be open in all, as far as is known.
  var capacity: Int {
    var sum = 0
    for connection in connections { sum += connection.state.capacity }
    return sum
  }

  /// A connection with free streams other than `failed`, to another address if there is one; nil when there is
  /// none.
  func another(than failed: UnsafeRawPointer, at address: SocketAddress?) -> GatewayConnection? {
    var found: GatewayConnection?
    for connection in connections where connection.state.credit > 0 {
      guard Unmanaged.passUnretained(connection).toOpaque() != failed else { continue }
      if connection.address != address { return connection }
      found = connection
    }
    return found
  }

  /// The connection with the most free streams, or nil when none has any.
  func mostFree() -> GatewayConnection? {
    var best: GatewayConnection?
    var most = 0
    for connection in connections {
      let credit = connection.state.credit
      if credit > most {
        most = credit
        best = connection
      }
    }
    return best
  }

  /// Streams that could be opened now.
  var credit: Int {
    var sum = 0
    for connection in connections { sum += connection.state.credit }
    return sum
  }

  /// Nothing can be sent at all now: no valid token, or the destination is out.
  var isHeld: Bool {
    authentication == .providerToken && authorization == nil || !waiting.health.isUndisturbed
  }

  /// Nothing waits to be sent.
  var isIdle: Bool { waiting.isEmpty && apart.isEmpty }

  /// Nothing goes on that time alone could change within a second.
  var isSettled: Bool {
    guard isIdle, waiting.open == 0, lookups == 0 else { return false }
    for connection in connections where !connection.isServing || connection.pingedAt != nil {
      return false
    }
    return true
  }

  /// Pushes are answered, and nothing else goes on: time alone changes nothing until an answer takes very long.
  var isCalm: Bool {
    guard isIdle, lookups == 0 else { return false }
    for connection in connections
    where !connection.isServing || connection.pingedAt != nil || !connection.state.hasAccepted {
      return false
    }
    return true
  }

  /// What the pool's policy decides by.
  var load: ConnectionPoolPolicy.Load {
    var load = ConnectionPoolPolicy.Load(
      connecting: lookups, serving: 0, credit: 0, openStreams: 0, capacity: 0,
      isWaiting: !isIdle && (authorization != nil || authentication == .certificate))
    load.wantsElsewhere = !apart.isEmpty
    for connection in connections {
      switch connection.state.state {
      case .connecting: load.connecting += 1
      case .priming, .ready, .suspect:
        load.serving += 1
        if connection.isAged {
          load.aged += 1
        } else if !connection.state.hasAccepted {
          load.unproven += 1
        }
        load.credit += connection.state.credit
        load.openStreams += connection.state.openStreams
        load.capacity += connection.state.limit
      case .draining, .closed: break
      }
    }
    return load
  }

  /// Appends the header fields of one push behind the shared ones (Apple, "Sending notification requests to
  /// APNs"). Values are slices of the push, which stays where it is until its answer.
  ///
  /// Values that do not come again are kept out of the small compression table, except on a connection's
  /// first request, which puts the names in.
  func fillHeaders(for push: UnsafeMutablePointer<Push>, on connection: GatewayConnection) {
    let perRequest: HeaderIndexing = connection.state.streamsOpened == 0 ? .allowed : .never
    let envelope = push.pointee.envelope
    headers.removeAll(keeping: Self.sharedHeaders)
    headers.append(":path", push.pointee.path)
    if let authorization = connection.authorization {
      headers.append("authorization", authorization.value)
    }
    switch envelope.target {
    case .device: headers.append("apns-topic", push.pointee.field(envelope.topic))
    // Its topic is in the path.
    case .channel: headers.append("apns-channel-id", push.pointee.token)
    }
    headers.append("apns-push-type", push.pointee.field(envelope.pushTypeText))
    headers.append("apns-priority", push.pointee.field(envelope.priorityText))
    if !envelope.expirationText.isEmpty {
      headers.append(
        "apns-expiration", push.pointee.field(envelope.expirationText),
        envelope.expiration == 0 ? .allowed : perRequest)
    }
    let id = push.pointee.field(envelope.idText)
    switch envelope.target {
    case .device: headers.append("apns-id", id, perRequest)
    case .channel: headers.append("apns-request-id", id, perRequest)
    }
    if !envelope.collapseID.isEmpty {
      headers.append("apns-collapse-id", push.pointee.field(envelope.collapseID), perRequest)
    }
  }
}
