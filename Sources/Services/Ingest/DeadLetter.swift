// SPDX-License-Identifier: Apache-2.0
import Kafka
import Pipeline

/// Why a record, or one token of it, ends here; becomes the headers of a dead letter.
struct DeadLetter {
  private static let longestToken = 600

  let reason: DeadLetterReason
  let detail: String
  /// The one bad token of a good request.
  var token: UnsafeRawBufferPointer?
  /// The request id, unescaped, or its raw text where the request was refused.
  var requestID: UnsafeRawBufferPointer?

  func headers(origin: String, at now: Int64, _ cut: DeadLetterCut) -> [KafkaHeader] {
    var headers = [
      KafkaHeader(DeadLetterHeader.reason, reason.rawValue),
      KafkaHeader(DeadLetterHeader.detail, detail + cut.remark),
      KafkaHeader(DeadLetterHeader.stage, DeadLetterStage.ingest.rawValue),
      KafkaHeader(DeadLetterHeader.attempts, "0"),
      KafkaHeader(DeadLetterHeader.origin, origin),
      KafkaHeader(DeadLetterHeader.at, "\(now)"),
    ]
    if let token {
      headers.append(KafkaHeader(DeadLetterHeader.token, Array(token.prefix(Self.longestToken))))
    }
    if let requestID, !requestID.isEmpty {
      // The id of a refused request may be the very thing that is too long.
      let shown = requestID.prefix(DeadLetterHeader.longest)
      headers.append(KafkaHeader(DeadLetterHeader.requestID, Array(shown)))
    }
    return headers
  }
}
