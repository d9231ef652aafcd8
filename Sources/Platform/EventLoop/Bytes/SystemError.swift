// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A failed system call: what was attempted, why the system refused (`errno`), and what to do where that is known.
public struct SystemError: Error, Equatable, CustomStringConvertible {
  /// The `errno` of the failed call.
  public let code: Int32
  /// The attempt that failed, in words: "cannot read /etc/martlet/signer.p8".
  public let attempt: String
  /// The remedy, as words that end a sentence; `nil` where the code says enough.
  public let remedy: String?

  public init(code: Int32, attempt: String, remedy: String? = nil) {
    self.code = code
    self.attempt = attempt
    self.remedy = remedy
  }

  /// The error of the system call that just failed on this thread: call it before anything else.
  public static func last(_ attempt: @autoclosure () -> String) -> SystemError {
    let code = errno
    return SystemError(code: code, attempt: attempt())
  }

  public var description: String {
    "\(attempt): \(SystemError.meaning(of: code)) (errno \(code))"
      + (remedy.map { "; \($0)" } ?? "")
  }

  /// The system's own words for an `errno`.
  public static func meaning(of code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    // The POSIX form of strerror_r is what Swift sees: it fills the buffer and returns 0.
    guard strerror_r(code, &text, text.count) == 0 else { return "unknown error" }
    return text.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return "unknown error" }
      return String(cString: base)
    }
  }
}
