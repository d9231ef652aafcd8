// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Why a secure connection cannot be made or has broken.
public struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Kind: Sendable, Equatable {
    /// Certificates, keys or roots of ours that cannot be used.
    case configuration
    /// The peer's certificate is not acceptable: unknown authority, wrong host name, expired…
    case certificate
    /// The peers could not agree (version, protocol, cipher), or the peer sent an alert.
    case handshake
    /// The stream broke after the handshake.
    case stream
  }

  public let kind: Kind
  public let message: String

  public var description: String { message }

  /// The oldest error on this thread's OpenSSL queue, which is emptied.
  static func last(_ kind: Kind, _ attempt: String) -> TLSError {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return TLSError(kind: kind, message: attempt) }
    return TLSError(kind: kind, message: "\(attempt): \(reason(code))")
  }

  private static func reason(_ code: UInt) -> String {
    if let text = ERR_reason_error_string(code) { return String(cString: text) }
    return "OpenSSL error \(code)"
  }
}
