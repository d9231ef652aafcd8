// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The reason for rejecting a request.
public struct Refusal: Equatable, Sendable {
  public let reason: Reason
  /// The `timestamp` of a 410: when the token was last known to be invalid, in ms.
  public let timestamp: Int64?

  public init(_ reason: Reason, timestamp: Int64? = nil) {
    self.reason = reason
    self.timestamp = timestamp
  }
}
