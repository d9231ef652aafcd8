// SPDX-License-Identifier: Apache-2.0

/// Why a stream or a connection ended (RFC 9113 §7).
public enum ErrorCode: UInt32, Sendable {
  case noError, protocolError, internalError, flowControlError, settingsTimeout, streamClosed
  case frameSizeError, refusedStream, cancel, compressionError, connectError, enhanceYourCalm
  case inadequateSecurity, http11Required
}

/// The peer broke the protocol so that the connection cannot go on (RFC 9113 §5.4.1).
public struct ConnectionError: Error, Sendable, Equatable {
  /// The error code of the GOAWAY.
  public let code: ErrorCode
  /// The error in words, for the log.
  public let reason: String

  public init(_ code: ErrorCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
