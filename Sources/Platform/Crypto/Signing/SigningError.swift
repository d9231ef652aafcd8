// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Why a key cannot be used or something could not be signed: what happened and what to do.
/// Never holds any part of a key.
public struct SigningError: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }

  /// An error of OpenSSL's, with the reason that it left in this thread's queue.
  static func openSSL(_ attempt: String) -> SigningError {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    guard code != 0, let reason = ERR_reason_error_string(code) else {
      return SigningError("\(attempt) failed")
    }
    return SigningError("\(attempt) failed: \(String(cString: reason))")
  }
}
