// SPDX-License-Identifier: Apache-2.0

/// The limits at which a campaign stops itself. Shares are above 0 and at most 1; nil for no limit.
public struct CampaignLimits: Equatable, Sendable {
  /// The share of rejected pushes above which it stops.
  public var rejected: Double?
  /// The share of pushes to invalid device tokens above which it stops.
  public var unregistered: Double?
  /// The multiple of that share among the app's other pushes above which it stops.
  public var unregisteredTimes: Double?
  /// The duration in milliseconds; it stops when more than half of the outcomes took longer.
  public var slowerThan: Int64?

  public init(
    rejected: Double? = nil, unregistered: Double? = nil, unregisteredTimes: Double? = nil,
    slowerThan: Int64? = nil
  ) {
    (self.rejected, self.unregistered) = (rejected, unregistered)
    (self.unregisteredTimes, self.slowerThan) = (unregisteredTimes, slowerThan)
  }

  public var isEmpty: Bool { self == CampaignLimits() }
}

/// The outcomes of a campaign's pushes so far, and of the app's other pushes meanwhile. Deduplicated pushes are not
/// counted.
public struct CampaignEvidence: Equatable, Sendable {
  /// The number of pushes with an outcome, and of those whose device token APNs reported invalid (410, or
  /// BadDeviceToken).
  public struct Devices: Equatable, Sendable {
    public var outcomes: Int
    public var unregistered: Int

    public init(outcomes: Int = 0, unregistered: Int = 0) {
      (self.outcomes, self.unregistered) = (outcomes, unregistered)
    }
  }

  public var devices: Devices
  /// Outcomes of any kind, including deduplicated pushes: the pushes no longer in flight.
  public var ended: Int
  /// Those of them to device tokens that the audience has more than once: there is one push to each token.
  public var repeated = 0
  public var rejected: Int
  /// Outcomes whose duration is known, and those that took longer than the campaign's limit.
  public var timed: Int
  public var slow: Int
  public var others: Devices
  /// Why ingest refused one of its requests as a whole; nil if it refused none.
  public var refusal: String?

  public init(
    outcomes: Int = 0, ended: Int? = nil, rejected: Int = 0, unregistered: Int = 0,
    timed: Int = 0, slow: Int = 0, others: Devices = .init()
  ) {
    self.ended = ended ?? outcomes
    devices = Devices(outcomes: outcomes, unregistered: unregistered)
    (self.rejected, self.timed, self.slow, self.others) = (rejected, timed, slow, others)
  }

  /// The number of other pushes from which the app's norm is known.
  static var leastOthers: Int { 1_000 }
  /// Fewer invalid tokens than this are never far above the norm.
  static var leastUnregistered: Int { 10 }

  /// The limit that is exceeded, in words; nil for none.
  ///
  /// - Parameter least: the number of outcomes to assume at least; missing ones count as good.
  public func problem(_ limits: CampaignLimits, least: Int = 0) -> String? {
    func isPassed(_ share: Double?, _ count: Int, of total: Int) -> Bool {
      share.map { Double(count) > $0 * Double(max(total, least)) } ?? false
    }
    let invalid = "\(devices.unregistered) of \(devices.outcomes) device tokens were invalid"
    if isPassed(limits.rejected, rejected, of: devices.outcomes) {
      return "\(rejected) of \(devices.outcomes) pushes were rejected"
    }
    if isPassed(limits.unregistered, devices.unregistered, of: devices.outcomes) { return invalid }
    if isPassed(farAboveNorm(limits), devices.unregistered, of: devices.outcomes) {
      return invalid + ", of the app's other pushes \(others.unregistered) of \(others.outcomes)"
    }
    guard let time = limits.slowerThan, isPassed(0.5, slow, of: timed) else { return nil }
    return "\(slow) of \(timed) outcomes took longer than \(time) ms"
  }

  /// The share of invalid tokens that is far above the app's norm; nil without enough data.
  private func farAboveNorm(_ limits: CampaignLimits) -> Double? {
    guard let times = limits.unregisteredTimes, others.outcomes >= Self.leastOthers,
      devices.unregistered >= Self.leastUnregistered
    else { return nil }
    // With none among the others, assume one.
    return times * Double(max(others.unregistered, 1)) / Double(others.outcomes)
  }
}
