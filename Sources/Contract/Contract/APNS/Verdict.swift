// SPDX-License-Identifier: Apache-2.0

/// The consequence of an answer for its notification.
public enum Verdict: Equatable, Sendable {
  /// APNs accepted it (which is not yet delivery to a device).
  case delivered
  /// Final. `aboutToken`: the answer is evidence about the device token and belongs on the feedback topic, where the
  /// 410 rule and the suspicion of `BadDeviceToken` are applied.
  case rejected(aboutToken: Bool)
  /// May be sent again at once, on another connection.
  case retryElsewhere
  /// May be sent again at once, with a fresh provider token on a new connection.
  case refreshToken
  /// May be sent again after a delay.
  case retryLater(RetryDelay)
  /// The credential is refused: stop using it, tell the operator. The push waits until one is accepted.
  case credentialRefused
  /// Something between here and APNs answered: it says nothing about the push, which may be resent at once, elsewhere.
  case foreign
}

/// The reason why a notification waits before it is resent.
public enum RetryDelay: UInt8, Equatable, Sendable {
  /// The device got too many pushes (429): from a second up, doubling.
  case throttled
  /// A fault of APNs (500, 503): Apple advises a quarter of an hour.
  case fault

  /// The least wait, in seconds; the first retry topic that waits at least as long is used.
  public var seconds: Int64 {
    switch self {
    case .throttled: 1
    case .fault: 900
    }
  }
}

/// The consequence of an answer for its connection.
public enum ConnectionAction: UInt8, Equatable, Sendable {
  case keep
  /// Send nothing new on it, let the open streams end, then close it.
  case drain
  /// The connection will not work again: drain it, and close it after a short grace period.
  case close
  /// The same, once this answer has come several times in a row.
  case closeIfRepeated
}

/// The consequence of an answer for the credential in use (provider token or certificate).
public enum CredentialAction: UInt8, Equatable, Sendable {
  case none
  /// A newer provider token is needed, at least 20 minutes after the last.
  case refresh
  /// Mint no token for 20 minutes; hold the waiting pushes, and test with one push at a time when APNs accepts the
  /// current token again.
  case freeze
  /// Stop using it for this app, and for all apps if no other app is served, until it has been corrected.
  case stop
}
