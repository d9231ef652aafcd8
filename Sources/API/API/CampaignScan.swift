// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Store

/// A campaign in the schedule's database, without its request.
struct StoredCampaign: Sendable {
  let campaign: CampaignRecord
  let key: String
  let identity: Int64
  /// The approximate size of its description, in bytes.
  let bytes: Int

  init(_ campaign: CampaignRecord, key: String, identity: Int64) {
    var campaign = campaign
    campaign.dropRequest()
    (self.campaign, self.key, self.identity) = (campaign, key, identity)
    bytes = JSONValue.object(campaign.summary).text.count + 200
  }
}

/// The range of campaigns that a query asks for.
struct CampaignPage: Sendable, Equatable {
  /// nil for all apps.
  var apps: Set<ExactText>?
  /// The key after which the page begins; empty for the first page.
  var after: String
  var limit: Int
  /// Whether to omit finished campaigns.
  var isOpenOnly = false

  /// The most campaigns of a page, and the default without a `limit`.
  static let mostListed = 1_000
  static let usualLimit = 100
}

/// The part of a page found so far: the database is searched a few records at a time, since each may have 64 KiB.
struct CampaignScan: Sendable {
  static let step = 50
  /// The size at which a page ends, in bytes.
  static let mostBytes = 1 << 20
  /// The size of its records at which a page ends, in bytes: each includes its request, which is read but not reported.
  static let mostRead = 8 << 20

  private(set) var campaigns: [StoredCampaign] = []
  /// The campaigns of the page; with `isOpenOnly`, only counted.
  private(set) var count = 0
  /// The page is full, and at least one more campaign exists.
  private(set) var hasMore = false
  /// The key of the last record read; nil before the first.
  private(set) var last: String?
  private var bytes = 0
  private var read = 0

  /// Adds the next record.
  ///
  /// - Parameters:
  ///   - campaign: nil for an unreadable one.
  ///   - size: the size of its record in bytes.
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
  /// Searches for a page, some campaigns per turn.
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
