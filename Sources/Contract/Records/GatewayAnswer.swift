// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The content of an answer, or of the debug data of a GOAWAY frame.
public struct GatewayAnswer: Equatable, Sendable {
  /// The number of bytes of an answer's body in `excerpt`.
  public static let excerptLength = 80

  public let response: GatewayResponse
  /// The reason, or without one the start of the body. A single text, since answers are copied for each receipt.
  private let text: String

  /// An answer that has already been parsed.
  public init(_ response: GatewayResponse, reasonText: String) {
    self.response = response
    text = reasonText
  }

  /// Parses a body. A missing, truncated or non-JSON body gives no reason; members other than `reason` and `timestamp`
  /// are ignored, and so is a timestamp that is not in milliseconds.
  public init(status: UInt16, id: AnswerID, body: UnsafeRawBufferPointer, parser: JSONParser) {
    let root = body.isEmpty ? nil : try? parser.parse(body)
    let text = root?["reason"]?.string ?? ""
    self.text = text.isEmpty ? Self.printable(body.prefix(Self.excerptLength)) : text
    response = GatewayResponse(
      status: status,
      body: text.isEmpty ? .nothing : Reason(text).map { .reason($0) } ?? .otherReason,
      timestamp: root?["timestamp"]?.time, id: id)
  }

  private var hasReason: Bool { response.body != .nothing }

  /// The reason as written, known or not; empty without one.
  public var reasonText: String { hasReason ? text : "" }

  /// The start of a body without a reason, for the log: printable ASCII, with "?" for every other byte.
  public var excerpt: String { hasReason ? "" : text }

  /// Untrusted bytes as printable ASCII.
  public static func printable(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { (32..<127).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
