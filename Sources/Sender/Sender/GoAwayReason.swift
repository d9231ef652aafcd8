// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTP2
import Records

/// What a GOAWAY frame says in its debug data: JSON like an error's body, or text, or nothing.
struct GoAwayReason {
  let reason: Reason?
  /// For the log: the reason, or the untrusted bytes as printable ASCII.
  let text: String

  init(_ debug: [UInt8], parser: JSONParser) {
    let answer = debug.withUnsafeBytes {
      GatewayAnswer(status: 0, id: .none, body: $0, parser: parser)
    }
    reason = answer.response.reason
    text = reason?.name ?? GatewayAnswer.printable(debug)
  }

  /// True if the gateway does not leave in good order: its code is an error, or it says why in words that are no reason
  /// known here. APNs cuts off whoever makes too many errors, and no page says with which.
  func isError(code: UInt32) -> Bool {
    code != HTTP2ErrorCode.noError || (reason == nil && !text.isEmpty)
  }
}
