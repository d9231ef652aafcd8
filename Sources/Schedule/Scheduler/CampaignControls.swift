// SPDX-License-Identifier: Apache-2.0
import Contract
import Identity
import JSON
import Records
import Schedule

/// What `push.controls` says of campaigns: what was asked of them, and the paces of their requests. Anyone may have
/// written anything there. Owned by the scheduler's thread.
struct CampaignControls {
  /// Campaigns and paces of which something is noted, at most.
  private static let most = 20_000

  private var controls: [CampaignKey: (control: CampaignControl, at: Int64)] = [:]
  /// nil: it was cleared.
  private var paces: [PaceSubject: PaceRate?] = [:]
  private var room = PaceRoom()
  /// When what these have asked for was ended, in milliseconds since the epoch: API keys that were removed.
  private(set) var ended: [ExactText: Int64] = [:]
  /// Another number after each record of those.
  private(set) var endedRevision = 0
  /// Another number after each record.
  private(set) var revision = 1

  /// All is read again.
  mutating func forget() {
    (controls, paces, room, ended) = ([:], [:], PaceRoom(), [:])
    revision += 1
  }

  mutating func note(_ key: String, _ value: UnsafeRawBufferPointer?) {
    revision += 1
    if key.hasPrefix(ControlRecord.holderPrefix) { return note(holder: key, value) }
    if let subject = PaceSubject(key: key) {
      return set(subject, (try? ControlRecord.pace(value)).flatMap { $0 })
    }
    guard let campaign = CampaignKey(key),
      controls[campaign] != nil || controls.count < Self.most
    else { return }
    controls[campaign] = value.flatMap { ControlRecord.campaign($0) }
  }

  /// A pace is set, or cleared: on the topic, or by this process on its way there.
  mutating func set(_ subject: PaceSubject, _ rate: PaceRate?) {
    revision += 1
    let known = paces[subject]
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

  /// What is to become of a campaign: what was asked of it, and its end with the API key that has started it.
  func verdict(on campaign: CampaignRecord) -> CampaignControl {
    var control = control(of: campaign) ?? CampaignControl()
    if control.cancelledBy == nil, let end = ended[campaign.by.exact], end >= campaign.at {
      control.cancelledBy = "the removal of API key \(campaign.by.dropFirst("key ".count))"
    }
    return control
  }

  /// What was asked of a campaign since it was started; nil for nothing.
  func control(of campaign: CampaignRecord) -> CampaignControl? {
    guard let found = controls[campaign.key], found.at >= campaign.at else { return nil }
    return found.control
  }

  /// Whether there is a record that concerned another campaign of this name, before this one.
  func isStale(for campaign: CampaignRecord) -> Bool {
    controls[campaign.key].map { $0.at < campaign.at } ?? false
  }

  /// Whether anything was asked, of this campaign or another one of the name.
  func has(_ campaign: CampaignKey) -> Bool { controls[campaign] != nil }

  /// The pace of a campaign's requests, in pushes a millisecond: the slowest of those of its group, its app and the lane
  /// that it names. Its own until its group's is known.
  func pace(of campaign: CampaignRecord) -> Double? {
    let (app, environment) = (campaign.key.app, campaign.key.environment)
    let lane = campaign.request.given(RequestField.lane.name)?.string
    var rates: [PaceRate?] = [paces[.app(app, environment)] ?? nil]
    if let lane { rates.append(paces[.lane(lane)] ?? nil) }
    if let own = paces[.group(app, environment, campaign.name)] {
      rates.append(own)
    } else {
      rates.append(campaign.pace)
    }
    return rates.compactMap { rate in rate?.perMillisecond }.min()
  }

  /// Whether the pace of a campaign's group may be set: the groups of its app, and all together, are not too many.
  func maySetPace(of campaign: CampaignKey) -> Bool {
    let own = paces[.group(campaign.app, campaign.environment, campaign.name)] ?? nil
    return own != nil || room.hasRoom(forGroupOf: campaign.app)
  }
}
