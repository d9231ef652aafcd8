// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit

/// Reports in the log what becomes of campaigns, and whose audience could not be read: once, until it can be.
struct CampaignNotices {
  private let log: Logger
  private var hasFailedQuestion = false
  /// Campaigns whose topic of device tokens could not be read.
  private var withoutTopic: Set<CampaignKey> = []

  init(_ log: Logger) { self.log = log }

  /// Forgets which topics could not be read.
  mutating func forgetTopics() { withoutTopic = [] }

  /// The audience of the campaign could not be read.
  mutating func failed(_ campaign: CampaignRecord, _ problem: String) {
    guard let topic = campaign.audience.tokenTopic else {
      if !hasFailedQuestion { log(SchedulerLog.audienceUnknown, ["error": problem]) }
      hasFailedQuestion = true
      return
    }
    guard withoutTopic.insert(campaign.key).inserted else { return }
    log(
      SchedulerLog.tokenTopicNotRead,
      ["campaign": "\(campaign.key)", "topic": topic, "error": problem])
  }

  /// The audience of the campaign was read.
  mutating func succeeded(_ campaign: CampaignRecord) {
    guard let topic = campaign.audience.tokenTopic else {
      if hasFailedQuestion { log(SchedulerLog.audienceKnown) }
      hasFailedQuestion = false
      return
    }
    guard withoutTopic.remove(campaign.key) != nil else { return }
    log(SchedulerLog.tokenTopicRead, ["campaign": "\(campaign.key)", "topic": topic])
  }

  /// The campaign's topic has lines that are not device tokens.
  func skipped(_ count: TokenTopicReader.Count, _ campaign: CampaignRecord) {
    guard count.others > 0 else { return }
    log(
      SchedulerLog.linesSkipped,
      ["campaign": "\(campaign.key)", "lines": "\(count.others)", "first": count.example])
  }

  /// The campaign has another state than before.
  func entered(_ campaign: CampaignRecord) {
    let (name, progress) = ("\(campaign.key)", campaign.progress)
    let addressed = "\(progress.addressed) of \(progress.total.map { "\($0)" } ?? "?")"
    let event: SchedulerLog
    switch progress.state {
    case .scheduled: return
    case .running: event = .campaignGoesOn
    case .trial: event = .trialAddressed
    case .done: event = .campaignDone
    case .cancelled: event = .campaignCancelled
    case .stopped: event = .campaignStopped
    }
    // A field without a value is left out.
    log(event, ["campaign": name, "addressed": addressed, "reason": progress.reason ?? ""])
  }

  func noted(_ note: String, _ campaign: CampaignRecord) {
    log(SchedulerLog.campaignNotice, ["campaign": "\(campaign.key)", "note": note])
  }
}
