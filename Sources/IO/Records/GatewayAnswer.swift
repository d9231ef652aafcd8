// SPDX-License-Identifier: Apache-2.0

public import APNS
public import JSON

/// What an answer, or the debug data of a GOAWAY frame, says.
public struct GatewayAnswer: Equatable, Sendable {
  /// Bytes of an answer's body that `excerpt` shows.
  public static let excerptLength = 80

  public let response: GatewayResponse
  /// The reason as it was written, also if it is not one that is known; empty without one.
  public let reasonText: String
  /// The beginning of a body without a reason, for the log: printable ASCII, with "?" for every other byte.
  public let excerpt: String

  /// An answer that was read before.
  public init(_ response: GatewayResponse, reasonText: String) {
    self.response = response
    self.reasonText = reasonText
    excerpt = ""
  }

  /// Reads a body. One that is missing, cut off or no JSON gives no reason; members other than `reason` and `timestamp`
  /// are ignored, and so is a timestamp that is no time in milliseconds.
  public init(
    status: UInt16, id: AnswerID, body: UnsafeRawBufferPointer, parser: JSONParser
  ) {
    let root = body.isEmpty ? nil : try? parser.parse(body)
    let text = root?["reason"]?.string ?? ""
    reasonText = text
    excerpt = text.isEmpty ? Self.printable(body.prefix(Self.excerptLength)) : ""
    response = GatewayResponse(
      status: status,
      body: text.isEmpty ? .nothing : Reason(text).map { .reason($0) } ?? .otherReason,
      timestamp: root?["timestamp"]?.time, id: id)
  }

  /// Untrusted bytes as printable ASCII.
  public static func printable(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { (32..<127).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
