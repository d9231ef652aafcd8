// SPDX-License-Identifier: Apache-2.0

/// The consequence of an answer for the notification that it answers.
public enum Verdict: Equatable, Sendable {
  /// APNs took it (which is not yet delivery to a device).
  case delivered
  /// Final. `aboutToken`: the answer says something about the device token and belongs on the
  /// feedback topic, where the 410 rule and the suspicion of `BadDeviceToken` are decided.
  case rejected(aboutToken: Bool)
  /// May be sent again at once, on another connection.
  case retryElsewhere
  /// May be sent again at once, with a fresh provider token on a new connection.
  case refreshToken
  /// May be sent again after a delay.
  case retryLater(RetryDelay)
  /// The credential is refused: stop using it, tell the operator. The push waits until one is accepted.
  case credentialRefused
  /// Something on the way to APNs gave it: it says nothing about the push, which may be sent again at once, elsewhere.
  case foreign
}

/// The reason for which a notification waits before it is sent again.
public enum RetryDelay: UInt8, Equatable, Sendable {
  /// The device was used too often (429): from a second up, doubling.
  case throttled
  /// A fault of APNs (500, 503): Apple's advice is a quarter of an hour.
  case fault

  /// The least wait, in seconds; it goes to the first retry topic that waits as long.
  public var seconds: Int64 {
    switch self {
    case .throttled: 1
    case .fault: 900
    }
  }
}

/// The consequence of an answer for the connection that it came on.
public enum ConnectionAction: UInt8, Equatable, Sendable {
  case keep
  /// Send nothing new on it, let the open streams end, then close it.
  case drain
  /// It will not serve again: drain it, and close it after a short grace.
  case close
  /// The same when this answer comes several times in a row.
  case closeIfRepeated
}

/// The consequence of an answer for the credential (provider token or certificate) in use.
public enum CredentialAction: UInt8, Equatable, Sendable {
  case none
  /// A newer provider token is needed; never sooner than 20 minutes after the last.
  case refresh
  /// Mint nothing for 20 minutes; hold what waits, and find out with one push at a time when APNs takes the current
  /// token again.
  case freeze
  /// Replace the token first if it is 55 minutes old or more.
  case refreshIfOld
  /// Stop using it for this app, and for all where no other app is served, until somebody has corrected it.
  case stop
}

/// The level at which a person is told.
public enum AlertLevel: UInt8, Equatable, Sendable {
  case none
  /// When the rate of this answer leaves its usual range.
  case onSpike
  /// When it comes again after what was done about it.
  case onRepeat
  case notify
  case page
}
