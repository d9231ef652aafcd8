// SPDX-License-Identifier: Apache-2.0
import Contract
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
}
