// SPDX-License-Identifier: Apache-2.0
import Contract
import Identity
import JSON
import Records
import Schedule
import ServiceKit
import Store

/// A campaign as the schedule's database has it, without its request.
struct StoredCampaign: Sendable {
  let campaign: CampaignRecord
  /// Of its record.
  let key: String
  let identity: Int64
  /// Bytes of what is told of it, about.
  let bytes: Int

  init(_ campaign: CampaignRecord, key: String, identity: Int64) {
    var campaign = campaign
    campaign.dropRequest()
    (self.campaign, self.key, self.identity) = (campaign, key, identity)
    bytes = JSONValue.object(campaign.summary).text.count + 200
  }
}

/// The campaigns that a question is about.
struct CampaignPage: Sendable, Equatable {
  /// nil: of all apps.
  var apps: Set<ExactText>?
  /// The key behind which they are; empty for the first ones.
  var after: String
  var limit: Int
  /// Leaves those out that are over.
  var isOpenOnly = false

  /// The most campaigns of a page, and how many there are without a `limit`.
  static let mostListed = 1_000
  static let usualLimit = 100
}

/// What was found of a page so far: the database is looked through a few records at a time, since each may have 64 KiB.
struct CampaignScan: Sendable {
  /// Records of a step.
  static let step = 50
  /// Bytes of a page, at which it ends.
  static let mostBytes = 1 << 20
  /// Bytes of the records of a page, at which it ends: a record has its request, which is read and not told.
  static let mostRead = 8 << 20

  private(set) var campaigns: [StoredCampaign] = []
  /// Those that belong to the page; with `isOpenOnly` they are counted only.
  private(set) var count = 0
  /// The page is full, and there is at least one further campaign.
  private(set) var hasMore = false
  /// The key of the last record that was looked at; nil before the first.
  private(set) var last: String?
  private var bytes = 0
  private var read = 0

  /// Takes the next record.
  ///
  /// - Parameters:
  ///   - campaign: nil for one that cannot be read.
  ///   - size: bytes of its record.
  /// - Returns: false when the page is full.
  mutating func take(
    _ campaign: StoredCampaign?, key: String, size: Int, _ page: CampaignPage
  ) -> Bool {
    defer { read += size }
    guard let campaign, page.includes(campaign.campaign) else {
      last = key
      return true
    }
    let hasRoom = bytes + campaign.bytes <= Self.mostBytes && read + size <= Self.mostRead
    guard count < page.limit, hasRoom || count == 0 || page.isOpenOnly else {
      hasMore = true
      return false
    }
    last = key
    count += 1
    if !page.isOpenOnly {
      bytes += campaign.bytes
      campaigns.append(campaign)
    }
    return true
  }
}

extension CampaignPage {
  fileprivate func includes(_ campaign: CampaignRecord) -> Bool {
    if isOpenOnly, campaign.progress.state.isOver { return false }
    return apps?.contains(campaign.audience.app.exact) ?? true
  }
}

extension Databases {
  /// Looks through a page, some campaigns a turn.
  func scan(
    _ page: CampaignPage, _ scan: CampaignScan = CampaignScan(),
    then: @escaping @Sendable (CampaignScan, Databases) throws(StoreError) -> Query.Found
  ) throws(StoreError) -> Query.Found {
    var scan = scan
    let entries = try schedule().campaigns(
      after: scan.last ?? page.after, limit: CampaignScan.step, apps: page.apps)
    for entry in entries {
      let size = entry.value.utf8.count
      guard scan.take(read(entry), key: entry.key.text, size: size, page) else {
        return try then(scan, self)
      }
    }
    guard entries.count == CampaignScan.step else { return try then(scan, self) }
    return .unfinished { [scan] (databases) throws(StoreError) in
      try databases.scan(page, scan, then: then)
    }
  }

  func campaigns(withPrefix prefix: String) throws(StoreError) -> [StoredCampaign] {
    try schedule().campaigns(withPrefix: prefix).compactMap { read($0) }
  }

  private func read(_ entry: ScheduledEntry) -> StoredCampaign? {
    inHand.work(on: entry.row.identity, key: entry.key.text) {
      CampaignRecord(stored: entry.value).map {
        StoredCampaign($0, key: entry.key.text, identity: entry.row.identity)
      }
    }
  }
}
