// SPDX-License-Identifier: Apache-2.0

/// The plan of a campaign, as set by its author.
public struct CampaignPlan: Equatable, Sendable {
  /// A trial: the first part of the audience, after which the campaign waits and is judged.
  public struct Trial: Equatable, Sendable {
    /// The share of the audience, above 0 and at most 1.
    public let share: Double
    /// The wait in milliseconds.
    public let wait: Int64

    public init(share: Double, wait: Int64) { (self.share, self.wait) = (share, wait) }

    /// The number of devices in the trial for an audience of this size.
    public func devices(of total: Int) -> Int {
      min(total, max(1, Int((Double(total) * share).rounded(.up))))
    }
  }

  /// Milliseconds since the epoch.
  public var startAt: Int64
  /// The local time at which each device is addressed; nil to address all from `startAt` on.
  public var local: LocalTime?
  public var trial: Trial?
  /// The campaign stops itself when any of these limits is exceeded.
  public var limits: CampaignLimits
  /// Whether its requests have a pace, which is set before the first of them.
  public var hasPace: Bool

  public init(
    startAt: Int64, local: LocalTime? = nil, trial: Trial? = nil,
    limits: CampaignLimits = .init(), hasPace: Bool = false
  ) {
    (self.startAt, self.local, self.trial) = (startAt, local, trial)
    (self.limits, self.hasPace) = (limits, hasPace)
  }
}

/// The progress of a campaign: the state in its record, from which the next owner continues.
public struct CampaignProgress: Equatable, Sendable {
  /// The upper bound of a campaign's counts and revisions, whoever wrote them: the sum of as many as fit into a record
  /// is far from overflowing.
  public static let most: Int64 = 1 << 40
  /// How far ahead of their pushes devices are addressed at a pace.
  public static let leadSeconds: Int64 = 30
  /// How long after a campaign's end its receipts are counted, in milliseconds: until then, addressed devices without
  /// an outcome can be cancelled, and its pace is kept.
  public static let countedAfterEnd: Int64 = 86_400_000

  public enum State: String, Sendable, CaseIterable {
    /// Its start time has not come.
    case scheduled
    case running
    /// The trial was addressed and is to be judged.
    case trial
    case done
    /// Ended by an operator.
    case cancelled
    /// It stopped itself.
    case stopped

    public var isOver: Bool { self == .done || self == .cancelled || self == .stopped }
  }

  /// Increases with each record of the campaign; older records are ignored. 0: as it was started.
  public var revision: Int64 = 0
  public var state = State.scheduled
  /// The number of devices in the audience when it was counted; nil before.
  public var total: Int?
  /// By local time, the time of the current wave; nil before the first.
  public var wave: Int64?
  /// The position up to which devices were addressed, within the wave if there is one: a token, or a position in a
  /// topic of tokens (`TokenTopicCursor`).
  public var cursor = ""
  /// The number of devices whose requests Kafka has acknowledged.
  public var addressed = 0
  /// Kafka has acknowledged the pace of its requests; later changes by operators are left alone.
  public var hasSetPace = false
  /// Whether it is paused, as its owner knows: no device is addressed, and no push of it is sent.
  public var isPaused = false
  /// A warning for its author, or what it waits for; nil for none.
  public var note: String?
  /// When the trial had been addressed, in milliseconds since the epoch.
  public var trialEndedAt: Int64?
  public var endedAt: Int64?
  /// The reason why it stopped itself, who cancelled it, or why it is done without some of its devices.
  public var reason: String?

  public init() {}
}

/// An operator's control of a campaign.
public struct CampaignControl: Equatable, Sendable {
  public var isPaused = false
  /// Who cancelled it; nil if it was not cancelled.
  public var cancelledBy: String?

  public init(isPaused: Bool = false, cancelledBy: String? = nil) {
    (self.isPaused, self.cancelledBy) = (isPaused, cancelledBy)
  }
}
