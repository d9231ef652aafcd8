// SPDX-License-Identifier: Apache-2.0
package import APNS

/// Why a request is refused.
package struct Refusal: Equatable, Sendable {
  package let reason: Reason
  /// With a 410: when the token was last known to be invalid, in ms.
  package let timestamp: Int64?

  package init(_ reason: Reason, timestamp: Int64? = nil) {
    self.reason = reason
    self.timestamp = timestamp
  }
}
