// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTP2
import SenderDecisions
import ServiceKit
import Settings

/// What the connections of one credential to one gateway are made with, and the header fields that their requests
/// share.
final class GatewayPool {
  /// Its number in the dispatcher.
  let number: Int32
  /// The credential's id, for the log.
  let credential: String
  /// Whether the credential has series of its own.
  let isNamed: Bool
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
  @exclusivity(unchecked) private(set) var accepted = 0
  @exclusivity(unchecked) private(set) var refused = 0
  /// What APNs refuses of it.
  var refusals = Refusals()
  /// The header fields of the next request.
  @exclusivity(unchecked) let headers: PushHeaders

  init(
    number: Int32, credential: String, isNamed: Bool, kind: GatewayKind, gateway: Endpoint,
    tls: TLSContext, proxy: GatewayProxy? = nil, http2: HTTP2Implementation,
    indexesAuthorization: Bool
  ) {
    self.number = number
    self.credential = credential
    self.isNamed = isNamed
    self.kind = kind
    self.gateway = gateway
    self.tls = tls
    self.proxy = proxy.map {
      ProxyRequest(host: gateway.host, port: gateway.port, credentials: $0.credentials)
    }
    dialled = proxy?.endpoint ?? gateway
    headers = PushHeaders(
      authority: gateway.httpsAuthority, http2, indexesAuthorization: indexesAuthorization)
  }

  /// APNs answered a push.
  func countAnswer(isAccepted: Bool) {
    if isAccepted { accepted &+= 1 } else { refused &+= 1 }
  }
}
