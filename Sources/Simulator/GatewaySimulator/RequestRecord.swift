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

/// The record of a request besides its header fields and body.
public struct RequestRecord: Sendable {
  /// Milliseconds since the epoch.
  public var time: Int64
  /// As the answer spells it.
  public var id: SpelledID
  public var kind: RequestKind
  /// 0 when there was no answer.
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

/// A request's header fields and body as they came, for the newest so many requests.
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

  /// A provider token is a secret until its signature is gone.
  private static func withoutSignature(_ value: String) -> String {
    guard let dot = value.lastIndex(of: ".") else { return String(value.prefix(7)) + "…" }
    return String(value[...dot]) + "…"
  }
}
