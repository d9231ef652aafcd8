// SPDX-License-Identifier: Apache-2.0

/// The speed of a campaign.
public struct CampaignRates: Equatable, Sendable {
  /// When it was measured, in milliseconds since the epoch.
  public var at: Int64
  /// Devices per second, with one decimal: addressed, and with an outcome.
  public var addressed: Double
  public var outcomes: Double

  public init(at: Int64, addressed: Double, outcomes: Double) {
    (self.at, self.addressed, self.outcomes) = (at, addressed, outcomes)
  }

  /// The age from which a measurement is outdated: the scheduler writes one every few seconds while anything moves.
  public static let freshness: Int64 = 60_000

  /// The rates if they are current; otherwise zero.
  public func current(now: Int64) -> CampaignRates {
    abs(now - at) <= Self.freshness ? self : CampaignRates(at: now, addressed: 0, outcomes: 0)
  }

  /// Whether another measurement has the same rates; nil means that nothing moved.
  public func isSame(as other: CampaignRates?) -> Bool {
    addressed == other?.addressed ?? 0 && outcomes == other?.outcomes ?? 0
  }

  /// Seconds until every device has its outcome at these rates; nil if nothing moves, or the audience was not counted.
  ///
  /// - Parameter count: the number of devices with an outcome.
  public func secondsLeft(_ progress: CampaignProgress, outcomes count: Int) -> Int? {
    let goal = progress.state.isOver ? progress.addressed : progress.total
    guard let goal, progress.state != .scheduled else { return nil }
    let left =
      outcomes > 0
      ? Double(goal - count) / outcomes
      : addressed > 0 ? Double(goal - progress.addressed) / addressed : .infinity
    if count >= goal { return 0 }
    // Below 0 if more were addressed than counted.
    return left < 1e9 ? Int(max(1, left).rounded(.up)) : nil
  }
}

/// Measures the speed of a campaign over half a minute. Times are milliseconds since the epoch.
public struct CampaignMeter: Sendable {
  private struct Sample: Sendable {
    let at: Int64
    let addressed: Int
    let outcomes: Int
  }

  static var window: Int64 { 30_000 }
  /// The interval between two samples.
  static var step: Int64 { 1_000 }

  private var samples: [Sample] = []
  /// The most outcomes known. They are recounted from the first one when another campaign begins, and by a new owner: a
  /// lower count is not a slowdown.
  private var most: Int

  /// - Parameter outcomes: the outcomes counted before.
  public init(outcomes: Int) { most = outcomes }

  /// Call it every turn.
  public mutating func note(addressed: Int, outcomes: Int, now: Int64) {
    if let last = samples.last, now < last.at { samples = [] }
    guard now - (samples.last?.at ?? .min / 2) >= Self.step else { return }
    most = max(most, outcomes)
    samples.append(Sample(at: now, addressed: addressed, outcomes: most))
    // One sample from before the window is kept: the measurement starts there.
    while samples.count > 2, samples[1].at <= now - Self.window { samples.removeFirst() }
  }

  public var rates: CampaignRates? {
    guard let first = samples.first, let last = samples.last, last.at > first.at else { return nil }
    let seconds = Double(last.at - first.at) / 1_000
    func perSecond(_ growth: Int) -> Double { (Double(growth) / seconds * 10).rounded() / 10 }
    return CampaignRates(
      at: last.at, addressed: perSecond(last.addressed - first.addressed),
      outcomes: perSecond(last.outcomes - first.outcomes))
  }
}
