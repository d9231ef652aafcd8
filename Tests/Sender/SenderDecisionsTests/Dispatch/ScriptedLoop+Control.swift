// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// What senders hear on topics of control.
extension ScriptedLoop {
  func pause(_ subjects: PauseSubject...) {
    var pauses = Pauses(.standard)
    for subject in subjects { pauses.set(subject, isPaused: true) }
    dispatcher.update(.pauses(pauses))
    perform()
  }

  /// These campaigns of an app are held from now on.
  func hold(_ campaigns: [(CampaignKey, CampaignHolds.Hold)]) {
    var pauses = Pauses(.standard)
    for (campaign, hold) in campaigns { pauses.campaigns.set(campaign, hold, at: wall) }
    dispatcher.beginTurn(now: now, wall: wall)
    dispatcher.update(.pauses(pauses))
    perform()
  }

  /// These paces are in force from now on.
  func pace(_ paces: [(PaceSubject, String)]) {
    var set = Paces(.standard)
    for (subject, rate) in paces { try! set.set(subject, PaceRate(rate)!) }
    dispatcher.beginTurn(now: now, wall: wall)
    dispatcher.update(.paces(set))
    perform()
  }

  /// All loops together have so many partitions.
  func count(_ totals: PartitionTotals) { dispatcher.update(.partitions(totals)) }

  /// News of the device of a push.
  func tell(_ news: ReleasedDevices.News, of number: Int, app: String = "app") {
    dispatcher.beginTurn(now: now, wall: wall)
    dispatcher.update(
      .devices([DeviceNews(UInt64(number), app: AppHash.of(app.utf8.span), .production, news)]))
  }

  /// Produces a record that says that an id is free again to the first partition.
  func free(_ id: NotificationID) {
    var record = logs[0].records[0]
    record.freed = id
    logs[0].records.append(record)
  }
}
