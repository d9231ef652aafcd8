// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// The paces and campaign controls on `push.controls`, as the API reports them. Anyone may have written anything there.
final class ControlsView {
  /// A pace that is set.
  struct Pace {
    let rate: PaceRate
    let author: ControlRecord.Author
  }

  /// The most campaigns whose controls are kept. Others are reported as if they had none.
  private static let mostCampaigns = 10_000

  /// The answer where the cluster had no such topic at the start.
  static let missing =
    "this cluster had no topic of controls when martlet-api started; martlet topics create creates it, and martlet-api"
    + " follows it from its next start"

  let topic: FollowedTopic
  private(set) var paces: [PaceSubject: Pace] = [:]
  private var campaigns: [CampaignKey: (control: CampaignControl, at: Int64)] = [:]

  init(_ names: TopicNames, _ cluster: ClusterView, wakeup: Wakeup) throws(KafkaError) {
    topic = try FollowedTopic(names.controls, cluster, wakeup: wakeup)
  }

  /// The control of a campaign since it was started.
  func control(of campaign: CampaignRecord) -> CampaignControl {
    guard let found = campaigns[campaign.key], found.at >= campaign.at else {
      return CampaignControl()
    }
    return found.control
  }

  /// The reason why a subject cannot have a pace besides the existing ones; nil if it can.
  func obstacle(to subject: PaceSubject) -> Problem? {
    guard paces[subject] == nil else { return nil }
    do throws(PaceProblem) {
      try PaceRoom(paces.keys).check(subject)
      return nil
    } catch {
      guard case .tooManyOfApp = error, let app = subject.app else {
        return .conflict(
          "\(PaceRoom.subjectsAtMost) apps, groups and devices have a pace, or \(PaceRoom.groupsAtMost) groups; clear one that is not needed"
        )
      }
      return .conflict(
        "\(PaceRoom.groupsOfAppAtMost) groups of \(app) have a pace, which is its quota; clear one that is not needed"
      )
    }
  }

  func turn() {
    topic.followEntries(
      forget: { (paces, campaigns) = ([:], [:]) }, { key, value in note(key, value) })
  }

  private func note(_ key: String, _ value: UnsafeRawBufferPointer?) {
    if let subject = PaceSubject(key: key) { return note(subject, value) }
    guard let campaign = CampaignKey(key) else { return }
    let control = value.flatMap { ControlRecord.campaign($0) }
    guard campaigns[campaign] != nil || campaigns.count < Self.mostCampaigns else { return }
    campaigns[campaign] = control
  }

  private func note(_ subject: PaceSubject, _ value: UnsafeRawBufferPointer?) {
    guard let value, let rate = (try? ControlRecord.pace(value)) ?? nil else {
      paces[subject] = nil
      return
    }
    guard paces[subject] != nil || paces.count < PaceRoom.subjectsAtMost + Lanes.most else {
      return
    }
    var author = ControlRecord.Author(of: value)
    author.by = author.by?.beginning(bytes: PacesAPI.longestReason)
    author.reason = author.reason?.beginning(bytes: PacesAPI.longestReason)
    paces[subject] = Pace(rate: rate, author: author)
  }
}
