// SPDX-License-Identifier: Apache-2.0
import APNS
import Dispatch
import EventLoop
import HTTP2
import Pipeline
import Records
import Settings
import TLS

/// What the connections of one credential to one gateway are made with, and the header fields that their requests
/// share.
final class GatewayPool {
  /// Its number in the dispatcher.
  let number: Int32
  /// The credential's id, for the log.
  let credential: String
  let kind: GatewayKind
  var environment: Environment { kind.environment }
  let gateway: Endpoint
  /// The HTTP proxy that connections go through, if any.
  let proxy: ProxyRequest?
  /// What is looked up and connected to: the proxy or the gateway itself.
  let dialled: Endpoint
  /// For the next connection; replaced when certificates or roots are read again.
  var tls: TLSContext
  /// The newest provider token, nil while there is none that may be sent.
  var authorization: Authorization?
  /// Answers of APNs: 200, and others.
  @exclusivity(unchecked) var accepted = 0
  @exclusivity(unchecked) var refused = 0
  /// Header fields; the first three are the same for all requests.
  @exclusivity(unchecked) private(set) var headers = HeaderList()
  private let authority: UnsafeMutableRawBufferPointer

  private static let sharedHeaders = 3

  init(
    number: Int32, credential: String, kind: GatewayKind, gateway: Endpoint, tls: TLSContext,
    proxy: SenderProxy? = nil
  ) {
    self.number = number
    self.credential = credential
    self.kind = kind
    self.gateway = gateway
    self.tls = tls
    self.proxy = proxy.map {
      ProxyRequest(host: gateway.host, port: gateway.port, credentials: $0.credentials)
    }
    dialled = proxy?.endpoint ?? gateway
    let name = gateway.port == 443 ? gateway.host : gateway.description
    authority = .allocate(byteCount: name.utf8.count, alignment: 1)
    authority.copyBytes(from: Array(name.utf8))
    headers.append(":method", "POST" as StaticString)
    headers.append(":scheme", "https" as StaticString)
    headers.append(":authority", UnsafeRawBufferPointer(authority))
  }

  deinit { authority.deallocate() }

  /// Appends the header fields of one push behind the shared ones (Apple, "Sending notification requests to
  /// APNs"). Values are slices of the push, which stays where it is until its answer.
  ///
  /// Values that do not come again are kept out of the small compression table, except on a connection's
  /// first request, which puts the names in.
  func fillHeaders(for push: UnsafeMutablePointer<Push>, on connection: GatewayConnection) {
    let perRequest: HeaderIndexing = connection.hasSent ? .never : .allowed
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
