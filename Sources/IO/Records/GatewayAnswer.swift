// SPDX-License-Identifier: Apache-2.0

public import APNS
public import JSON

/// What the body of an answer, or the debug data of a GOAWAY frame, says.
public struct GatewayAnswer: Equatable, Sendable {
  public let response: GatewayResponse
  /// The reason as it was written, also if it is not one that is known; empty without one.
  public let reasonText: String

  /// Reads a body. One that is missing, cut off or no JSON leaves the status to decide; members other
  /// than `reason` and `timestamp` are ignored, and so is a timestamp that is no time in milliseconds.
  public init(status: UInt16, body: UnsafeRawBufferPointer, parser: JSONParser) {
    let root = body.isEmpty ? nil : try? parser.parse(body)
    reasonText = root?["reason"]?.string ?? ""
    response = GatewayResponse(
      status: status, reason: Reason(reasonText), timestamp: root?["timestamp"]?.time)
  }
}
