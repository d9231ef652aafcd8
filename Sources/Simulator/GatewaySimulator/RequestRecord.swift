// SPDX-License-Identifier: Apache-2.0
public import Contract
public import GatewayModel
import HTTP2

public enum RequestKind: String, Sendable {
  case push, broadcast, management
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
}

/// A request's header fields and body as received, kept for the newest requests: in memory that the next request in its
/// place uses again.
struct RequestDetail: Sendable {
  /// The names and values of the fields, and the body behind them.
  private var bytes: [UInt8] = []
  /// Where a field ends: its name, and its value behind that.
  private var ends: [(name: Int, value: Int, isNeverIndexed: Bool)] = []
  private(set) var bodyTotal = 0

  mutating func keep(_ request: borrowing ServerRequest) {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    for index in 0..<request.keptFields {
      bytes.append(contentsOf: request.name(index))
      let name = bytes.count
      if request.name(index).spells("authorization") {
        appendWithoutSignature(request.value(index))
      } else {
        bytes.append(contentsOf: request.value(index))
      }
      ends.append((name, bytes.count, request.isNeverIndexed(index)))
    }
    bytes.append(contentsOf: request.body)
    bodyTotal = request.bodyTotal
  }

  var fields: [(name: String, value: String, isNeverIndexed: Bool)] {
    var start = 0
    return ends.map { ends in
      defer { start = ends.value }
      return (
        String(decoding: bytes[start..<ends.name], as: UTF8.self),
        String(decoding: bytes[ends.name..<ends.value], as: UTF8.self), ends.isNeverIndexed
      )
    }
  }

  var body: [UInt8] { Array(bytes[(ends.last?.value ?? 0)...]) }

  /// Leaves out the signature of a provider token, which makes it no longer a secret.
  private mutating func appendWithoutSignature(_ value: UnsafeRawBufferPointer) {
    let end = value.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? min(7, value.count)
    bytes.append(contentsOf: value[..<end])
    bytes.append(contentsOf: "…".utf8)
  }
}
