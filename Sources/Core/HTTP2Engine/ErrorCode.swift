// SPDX-License-Identifier: Apache-2.0

/// Why a stream or a connection ended (RFC 9113 §7).
package enum ErrorCode: UInt32, Sendable {
  case noError, protocolError, internalError, flowControlError, settingsTimeout, streamClosed
  case frameSizeError, refusedStream, cancel, compressionError, connectError, enhanceYourCalm
  case inadequateSecurity, http11Required
}

/// The peer broke the protocol so that the connection cannot go on (RFC 9113 §5.4.1).
package struct ConnectionError: Error, Sendable, Equatable {
  /// What the GOAWAY says.
  package let code: ErrorCode
  /// What was wrong, for the log.
  package let reason: String

  package init(_ code: ErrorCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
