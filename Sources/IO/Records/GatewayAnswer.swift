// SPDX-License-Identifier: Apache-2.0

package import APNS
package import JSON

/// What the body of an answer, or the debug data of a GOAWAY frame, says.
package struct GatewayAnswer: Equatable, Sendable {
  package let response: GatewayResponse
  /// The reason as it was written, also if it is not one that is known; empty without one.
  package let reasonText: String

  /// Reads a body. One that is missing, cut off or no JSON leaves the status to decide; members other
  /// than `reason` and `timestamp` are ignored.
  package init(status: UInt16, body: UnsafeRawBufferPointer, parser: JSONParser) {
    let root = body.isEmpty ? nil : try? parser.parse(body)
    reasonText = root?["reason"]?.string ?? ""
    response = GatewayResponse(
      status: status, reason: Reason(reasonText), timestamp: root?["timestamp"]?.int)
  }
}
