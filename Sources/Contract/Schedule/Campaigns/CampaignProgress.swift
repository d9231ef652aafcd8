// SPDX-License-Identifier: Apache-2.0

/// The course of a campaign, as its author has decided it.
public struct CampaignPlan: Equatable, Sendable {
  /// A first part of the audience, after which the campaign waits and is judged.
  public struct Trial: Equatable, Sendable {
    /// Of the audience, above 0 and at most 1.
    public let share: Double
    /// Milliseconds.
    public let wait: Int64

    public init(share: Double, wait: Int64) { (self.share, self.wait) = (share, wait) }

    /// Its devices of an audience of so many.
    public func devices(of total: Int) -> Int {
      min(total, max(1, Int((Double(total) * share).rounded(.up))))
    }
  }

  /// Milliseconds since the epoch.
  public var startAt: Int64
  /// Each device is addressed when it is this time where it is; nil: all from `startAt` on.
  public var local: LocalTime?
  public var trial: Trial?
  /// It stops itself when one of them is passed.
  public var limits: CampaignLimits
  /// Its requests have a pace, which is set before the first of them.
  public var hasPace: Bool

  public init(
    startAt: Int64, local: LocalTime? = nil, trial: Trial? = nil,
    limits: CampaignLimits = .init(), hasPace: Bool = false
  ) {
    (self.startAt, self.local, self.trial) = (startAt, local, trial)
    (self.limits, self.hasPace) = (limits, hasPace)
  }
}

/// How far a campaign is: what its record says, and the next owner goes on from.
public struct CampaignProgress: Equatable, Sendable {
  /// No count of a campaign, its revisions among them, is above this, whoever has written it: the sum of as many as a
  /// record has room for is far from overflowing.
  public static let most: Int64 = 1 << 40
  /// With a pace devices are addressed so far ahead of their pushes.
  public static let leadSeconds: Int64 = 30
  /// Receipts of a campaign that is over are counted for so many milliseconds after its end: what was addressed and has no
  /// outcome can be cancelled until then, and keeps its pace.
  public static let countedAfterEnd: Int64 = 86_400_000

  public enum State: String, Sendable, CaseIterable {
    /// Its time has not come.
    case scheduled
    case running
    /// The first part was addressed, and is to be judged.
    case trial
    case done
    /// Ended by an operator.
    case cancelled
    /// It has stopped itself.
    case stopped

    public var isOver: Bool { self == .done || self == .cancelled || self == .stopped }
  }

  /// Grows with each record of the campaign: an older one changes nothing. 0: as it was started.
  public var revision: Int64 = 0
  public var state = State.scheduled
  /// Devices of the audience when it was counted; nil before.
  public var total: Int?
  /// With a local time: the instant of the wave that is addressed; nil before the first.
  public var wave: Int64?
  /// Devices up to this place were addressed, of the wave if there is one: a token, or how far a topic of tokens was read
  /// (`TokenTopicCursor`).
  public var cursor = ""
  /// Devices for which Kafka has the request.
  public var addressed = 0
  /// Kafka has the pace of its requests; what operators have made of it since is theirs.
  public var hasSetPace = false
  /// Whether it is held, as its owner knows: no device is addressed, and no push of it sent.
  public var isPaused = false
  /// What its author should know of its course, or what it waits for; nil for nothing.
  public var note: String?
  /// When the first part had been addressed, in milliseconds since the epoch.
  public var trialEndedAt: Int64?
  public var endedAt: Int64?
  /// Why it stopped itself, or who cancelled it.
  public var reason: String?

  public init() {}
}

/// What operators have asked of a campaign.
public struct CampaignControl: Equatable, Sendable {
  public var isPaused = false
  /// By whom it was cancelled.
  public var cancelledBy: String?

  public init(isPaused: Bool = false, cancelledBy: String? = nil) {
    (self.isPaused, self.cancelledBy) = (isPaused, cancelledBy)
  }
}
