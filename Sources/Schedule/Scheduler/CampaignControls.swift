// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

/// The campaigns' part of `push.controls`: pauses, cancellations, and the paces of their requests. Any client may have
/// written anything there. Owned by the scheduler's thread.
struct CampaignControls {
  /// The most campaigns and paces kept.
  private static let most = 20_000

  /// The name of the lane in which ingest sends a campaign whose request names none.
  private let defaultLane: String
  private var controls: [CampaignKey: (control: CampaignControl, at: Int64)] = [:]
  /// Campaigns whose control stands before the removal of an earlier campaign's, written in the same moment.
  private var overtaken: Set<CampaignKey> = []
  /// A nil pace was cleared.
  private var paces: [PaceSubject: PaceRate?] = [:]
  private var room = PaceRoom()
  /// API keys that were removed, with when their requests were ended, in milliseconds since the epoch.
  private(set) var ended: [ExactText: Int64] = [:]
  /// Changes with each record of a removed key.
  private(set) var endedRevision = 0
  /// Changes with each record.
  private(set) var revision = 1

  init(_ lanes: Lanes) { defaultLane = lanes.name(lanes.last) }

  /// Forgets everything; the topic is read again.
  mutating func forget() {
    (controls, paces, room, ended) = ([:], [:], PaceRoom(), [:])
    overtaken = []
    revision += 1
  }

  /// Notes a record.
  ///
  /// - Parameters:
  ///   - before: what its header of this name says (`ControlRecord.beforeHeader`).
  ///   - isOwn: whether it is of a campaign of this process, whose control is kept however many others there are.
  mutating func note(
    _ key: String, _ value: UnsafeRawBufferPointer?, before: Int64? = nil, isOwn: Bool = false
  ) {
    revision += 1
    if key.hasPrefix(ControlRecord.holderPrefix) { return note(holder: key, value) }
    if let subject = PaceSubject(key: key) {
      return set(subject, (try? ControlRecord.pace(value)).flatMap { $0 })
    }
    guard let campaign = CampaignKey(key),
      isOwn || controls[campaign] != nil || controls.count < Self.most
    else { return }
    if value == nil, let before, let known = controls[campaign], known.at >= before {
      overtaken.insert(campaign)
      return
    }
    overtaken.remove(campaign)
    controls[campaign] = value.flatMap { ControlRecord.campaign($0) }
  }

  /// A pace was set or cleared, on the topic or by this process's own record in flight.
  mutating func set(_ subject: PaceSubject, _ rate: PaceRate?) {
    revision += 1
    let known = paces[subject]
    // Those of campaigns that are over must leave room for others.
    if known == nil, paces.count >= Self.most { paces = paces.filter { $0.value != nil } }
    guard known != nil || (rate != nil && paces.count < Self.most) else { return }
    paces[subject] = .some(rate)
    let hadPace = (known ?? nil) != nil
    if hadPace != (rate != nil) { room.note(subject, hasPace: rate != nil) }
  }

  private mutating func note(holder key: String, _ value: UnsafeRawBufferPointer?) {
    let holder = key.dropFirst(ControlRecord.holderPrefix.count).exact
    guard ended[holder] != nil || ended.count < Self.most else { return }
    ended[holder] = value.flatMap { ControlRecord.endsRequests($0) }
    endedRevision += 1
  }

  /// The control in effect for a campaign: what was asked of it, and its end if the API key that started it was
  /// removed.
  func verdict(on campaign: CampaignRecord) -> CampaignControl {
    var control = control(of: campaign) ?? CampaignControl()
    if control.cancelledBy == nil, let end = ended[campaign.by.exact], end >= campaign.at {
      control.cancelledBy = "the removal of API key \(campaign.by.dropFirst("key ".count))"
    }
    return control
  }

  /// The control of a campaign since it was started; nil for none.
  func control(of campaign: CampaignRecord) -> CampaignControl? {
    guard let found = controls[campaign.key], found.at >= campaign.at else { return nil }
    return found.control
  }

  /// Whether the topic has a control of an earlier campaign of this name.
  func isStale(for campaign: CampaignRecord) -> Bool {
    controls[campaign.key].map { $0.at < campaign.at } ?? false
  }

  /// Whether a campaign's control has to be written again, because other readers took its removal for a later one.
  func isOvertaken(_ campaign: CampaignKey) -> Bool { overtaken.contains(campaign) }

  /// Whether the topic has a control of this campaign or another one of its name.
  func has(_ campaign: CampaignKey) -> Bool { controls[campaign] != nil }

  /// The pace of a campaign's requests, in pushes per millisecond: the slowest of its group's, its app's and its
  /// lane's. Its own until its group's is known.
  func pace(of campaign: CampaignRecord) -> Double? {
    let (app, environment) = (campaign.key.app, campaign.key.environment)
    let lane = campaign.request.given(RequestField.lane.name)?.string ?? defaultLane
    var rates: [PaceRate?] = [paces[.app(app, environment)] ?? nil, paces[.lane(lane)] ?? nil]
    if let own = paces[.group(app, environment, campaign.name)] {
      rates.append(own)
    } else {
      rates.append(campaign.pace)
    }
    return rates.compactMap { rate in rate?.perMillisecond }.min()
  }

  /// Whether the pace of a campaign's group may be set: the limits of groups per app and in all are not reached.
  func maySetPace(of campaign: CampaignKey) -> Bool {
    let own = paces[.group(campaign.app, campaign.environment, campaign.name)] ?? nil
    return own != nil || room.hasRoom(forGroupOf: campaign.app)
  }
}
