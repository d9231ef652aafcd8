// SPDX-License-Identifier: Apache-2.0
import Waiting

public enum WebhookAnswer: Sendable, Equatable {
  /// - Parameter retryAfter: the endpoint's `Retry-After` in milliseconds; nil if it had none.
  case status(Int, retryAfter: UInt64?)
  /// There was no answer in time, or no connection.
  case none

  /// The longest wait that an endpoint can ask for, in milliseconds.
  public static let longestRetryAfter: UInt64 = 3_600_000

  public var isAccepted: Bool {
    if case .status(200..<300, _) = self { true } else { false }
  }

  /// True if the endpoint is disabled (410 Gone).
  public var isGone: Bool {
    if case .status(410, _) = self { true } else { false }
  }

  /// True if the request was too large for the endpoint (413).
  public var isTooLarge: Bool {
    if case .status(413, _) = self { true } else { false }
  }

  /// The delay in a `Retry-After` header in milliseconds, from seconds or a date; nil if it is neither.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public static func retryAfter(_ text: String, now: Int64) -> UInt64? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // More digits than fit into a number are a very long time.
      let seconds = UInt64(text) ?? .max
      return min(seconds, longestRetryAfter / 1_000) * 1_000
    }
    guard let date = HTTPDate.seconds(text) else { return nil }
    let (wait, overflows) = (date * 1_000).subtractingReportingOverflow(now)
    return overflows || wait <= 0 ? 0 : min(UInt64(wait), longestRetryAfter)
  }
}
