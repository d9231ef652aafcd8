// SPDX-License-Identifier: Apache-2.0
public import APNS
public import GatewayModel
import HTTP2
import HTTP2Server

/// The kind of a request.
public enum RequestKind: UInt8, Sendable, CaseIterable {
  case push, broadcast, management

  var name: StaticString {
    switch self {
    case .push: "push"
    case .broadcast: "broadcast"
    case .management: "management"
    }
  }
}

/// The record of a request without its header fields and body.
public struct RequestRecord: Sendable {
  /// Milliseconds since the epoch.
  public var time: Int64
  /// The id as the response spells it.
  public var id: SpelledID
  public var kind: RequestKind
  /// The status; 0 if there was no response.
  public var status: UInt16
  public var reason: Reason?
  public var fate: PushFate?
  public var connection: UInt32
  public var stream: Int32
  public var environment: Environment
  public var isBrokenJSON: Bool

  public init(
    time: Int64, id: SpelledID, kind: RequestKind = .push, status: UInt16 = 200,
    reason: Reason? = nil, fate: PushFate? = nil, connection: UInt32 = 0, stream: Int32 = 0,
    environment: Environment = .production, isBrokenJSON: Bool = false
  ) {
    self.time = time
    self.id = id
    self.kind = kind
    self.status = status
    self.reason = reason
    self.fate = fate
    self.connection = connection
    self.stream = stream
    self.environment = environment
    self.isBrokenJSON = isBrokenJSON
  }
}

/// A request's header fields and body as received, kept for the newest requests.
struct RequestDetail: Sendable {
  struct Field: Sendable {
    let name: String
    let value: String
    let isNeverIndexed: Bool
  }

  let fields: [Field]
  let body: [UInt8]
  let bodyTotal: Int

  init(_ request: borrowing ServerRequest) {
    var fields: [Field] = []
    for index in 0..<request.keptFields {
      let name = request.name(index).text
      let value = request.value(index).text
      fields.append(
        Field(
          name: name, value: name == "authorization" ? Self.withoutSignature(value) : value,
          isNeverIndexed: request.isNeverIndexed(index)))
    }
    self.fields = fields
    body = Array(request.body)
    bodyTotal = request.bodyTotal
  }

  /// Removes the signature from a provider token, which makes it no longer a secret.
  private static func withoutSignature(_ value: String) -> String {
    guard let dot = value.lastIndex(of: ".") else { return String(value.prefix(7)) + "…" }
    return String(value[...dot]) + "…"
  }
}
