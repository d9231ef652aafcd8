// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import SenderDecisions
import ServiceKit

/// Follows `push.controls` for the loops: what operators pause and resume, campaigns that are paused or over, and paces.
/// Owned by the control thread.
final class PauseFeed {
  let topic: FollowedTopic
  private let context: ServiceContext
  private let counters: Counters<SenderMetrics>
  private let lanes: Lanes
  private var pauses: Pauses
  private var told: Pauses
  private var paces: Paces
  private var toldPaces: Paces

  init(
    _ topic: FollowedTopic, _ lanes: Lanes, _ context: ServiceContext,
    counters: Counters<SenderMetrics>
  ) {
    self.lanes = lanes
    pauses = Pauses(lanes)
    told = pauses
    paces = Paces(lanes)
    toldPaces = paces
    self.topic = topic
    self.context = context
    self.counters = counters
  }

  /// Hands on what has come. Waits for nothing.
  func turn(_ tell: (LoopMessage) -> Void) {
    topic.followEntries(forget: forget) { key, value in note(key, value) }
    guard topic.isCaughtUp else { return }
    if pauses != told {
      told = pauses
      counters.set(.pausedApps, pauses.appCount)
      counters.set(.pausedLanes, pauses.laneCount)
      counters.set(.pausedCampaigns, pauses.campaigns.count(.paused))
      tell(.pauses(pauses))
    }
    if paces != toldPaces {
      toldPaces = paces
      counters.set(.paces, paces.count)
      tell(.paces(paces))
    }
  }

  private func forget() {
    pauses = Pauses(lanes)
    paces = Paces(lanes)
  }

  /// Notes a record of a pace.
  private func note(_ subject: PaceSubject, _ value: UnsafeRawBufferPointer?) {
    var rate: PaceRate?
    do throws(ControlRecord.NoPace) {
      rate = try ControlRecord.pace(value)
      context.log(SenderLog.pace, ["of": "\(subject)", "rate": rate.map { "\($0)" } ?? "none"])
    } catch {
      context.log(
        SenderLog.paceInvalid,
        ["what": subject.key, "value": error.value, "remedy": "martlet pace writes such records"])
    }
    do throws(PaceProblem) {
      try paces.set(subject, rate)
    } catch {
      context.log(SenderLog.paceNotKept, ["what": subject.key, "cause": Self.cause(error)])
    }
  }

  private static func cause(_ problem: PaceProblem) -> String {
    switch problem {
    case .unknownLane: "the lane is none of --lanes"
    case .tooMany:
      "\(PaceRoom.subjectsAtMost) apps, groups and devices have one, or \(PaceRoom.groupsAtMost) groups; martlet pace KIND NAME none removes one"
    case .tooManyOfApp:
      "\(PaceRoom.groupsOfAppAtMost) groups of this app have one; martlet pace KIND NAME none removes one"
    case .notForDevices:
      "a device's is a few pushes in a minute, an hour or a day, as martlet pace writes it"
    }
  }

  /// Notes what is asked of a campaign. The scheduler removes what is older than the campaign of this name.
  private func note(_ campaign: CampaignKey, _ value: UnsafeRawBufferPointer?) {
    let control = value.flatMap { ControlRecord.campaign($0) }
    let hold = control.flatMap { CampaignHolds.Hold($0.control) }
    // At the start there may be those of a month.
    if topic.isCaughtUp {
      let event: SenderLog =
        hold == .cancelled ? .cancelled : hold == .paused ? .paused : .resumed
      context.log(event, ["what": "\(campaign)"])
    }
    guard !pauses.campaigns.set(campaign, hold, at: control?.at ?? 0) else { return }
    context.log(SenderLog.campaignsHeld, ["held": "\(CampaignHolds.most)"])
  }

  private func note(_ key: String, _ value: UnsafeRawBufferPointer?) {
    if let subject = PaceSubject(key: key) { return note(subject, value) }
    if let campaign = CampaignKey(key) { return note(campaign, value) }
    // The scheduler's.
    if key.hasPrefix(ControlRecord.holderPrefix) { return }
    guard let subject = PauseSubject(key: key) else {
      return context.log(SenderLog.targetUnknown, ["key": key])
    }
    let isPaused = ControlRecord.isPaused(value)
    if let isPaused {
      context.log(isPaused ? SenderLog.paused : SenderLog.resumed, ["what": key])
    } else {
      context.log(
        SenderLog.pauseInvalid,
        [
          "what": key,
          "value": String(decoding: value ?? .init(start: nil, count: 0), as: UTF8.self),
          "remedy": "martlet pause and martlet resume write such records",
        ])
    }
    guard !pauses.set(subject, isPaused: isPaused == true) else { return }
    context.log(SenderLog.laneUnknown, ["what": key])
  }
}

extension CampaignHolds.Hold {
  /// What is asked of a campaign means this for its pushes; nil: nothing.
  init?(_ control: CampaignControl) {
    guard control.isPaused || control.cancelledBy != nil else { return nil }
    self = control.cancelledBy == nil ? .paused : .cancelled
  }
}
