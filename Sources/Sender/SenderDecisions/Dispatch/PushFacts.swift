// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The facts about a push from the owner of its bytes.
public struct PushFacts: Sendable {
  public var dedupKey: NotificationID
  /// A hash of the payload: of two pushes with one id, whether they are the same.
  public var payload: UInt16 = 0
  /// Hashes of the app's bundle id (`AppHash`) and of the device token (any).
  public var app: UInt64
  public var device: UInt64
  /// Hash of the group (`AppHash`); 0 for none.
  public var group: UInt64
  /// That of its campaign (`CampaignHolds.hash`); 0 for none.
  public var campaign: UInt64
  public var environment: Environment
  public var target: PushTarget
  public var pushType: PushType
  public var lane: Lane
  /// Attempts of earlier lives.
  public var attempt: UInt16
  /// It neither waits for its device's pace nor counts in it: the start or the end of a Live Activity or media session, or
  /// an update with priority 5 or less, which Apple does not count either.
  public var isFreeOfDevicePace = false
  /// Milliseconds since the epoch: when the request was made, and when it expires (`.max` for never).
  public var created: Int64
  public var expiresAt: Int64
  /// The same, when it was first moved to a retry topic because it has no credential; 0 if it was not. With `reserved`,
  /// the time that its device's pace has given it.
  public var waitedSince: UInt64
  /// By what a newer push supersedes it.
  public var state = StateFacts.none

  /// Marks a time of `waitedSince`.
  public static let reserved = UInt64(1) << 63

  /// A first send with these figures.
  public init(
    dedupKey: NotificationID, app: UInt64, device: UInt64, lane: Lane, created: Int64,
    expiresAt: Int64
  ) {
    self.dedupKey = dedupKey
    self.app = app
    self.device = device
    group = 0
    campaign = 0
    environment = .production
    target = .device
    pushType = .alert
    self.lane = lane
    attempt = 0
    self.created = created
    self.expiresAt = expiresAt
    waitedSince = 0
  }
}
