// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import DeviceTokens
import EventLoop
import Kafka
import SenderDecisions
import ServiceKit

/// Follows `push.invalid-tokens` for the loops: which devices were removed or have changed their owner within the last
/// day. What was requested before is not sent to them any more. Owned by the control thread.
final class DeviceFeed {
  /// So much of the topic's past is read, in milliseconds: no push is older.
  static let past = Int64(ReleasedDevices.memory)
  /// So long the first records wait for it, in milliseconds; a topic that cannot be read must not stop everything.
  private static let patience: UInt64 = 10_000

  private let table: KafkaTable?
  private let context: ServiceContext
  private let startedAt = MonotonicClock.milliseconds()
  private var isOverdue = false

  /// - Parameter table: nil where the cluster has no such topic, or this user may not see it.
  init(_ table: KafkaTable?, _ context: ServiceContext) {
    self.table = table
    self.context = context
  }

  /// Whether partitions may be begun: what was removed before is known.
  ///
  /// - Parameter now: monotonic milliseconds.
  func isReady(_ now: UInt64) -> Bool {
    guard let table, !table.isCaughtUp, !isOverdue else { return true }
    guard now >= startedAt + Self.patience else { return false }
    isOverdue = true
    context.log(
      SenderLog.devicesNotRead,
      ["topic": table.topic, "error": table.lastError.map { "\($0)" } ?? ""])
    return true
  }

  /// Hands on what has come. Waits for nothing.
  func turn(_ tell: (LoopMessage) -> Void) {
    guard let table else { return }
    var news: [DeviceNews] = []
    let now = WallClock.milliseconds()
    table.pollRecords(timeoutMilliseconds: 0) { record in
      if let entry = DeviceNews(record, now: now) { news.append(entry) }
    }
    if !news.isEmpty { tell(.devices(news)) }
  }
}

extension DeviceNews {
  /// What a record says; nil for one of which senders need not know. No time in it is later than its reception: a clock
  /// that is ahead must not end what is requested after it.
  ///
  /// - Parameter now: milliseconds since the epoch.
  init?(_ record: KafkaRecord, now: Int64) {
    let received = OutsideTime.received(recordTime: record.timestamp, now: now)
    let isGone = record.value.baseAddress != nil
    let header = record.headerBytes(named: DeviceRelease.header)
    guard header != nil || !isGone, let device = DeviceKey(key: record.key) else { return nil }
    var news = ReleasedDevices.News.usable(from: received)
    if let header {
      guard let release = DeviceRelease(header.bindMemory(to: UInt8.self).span) else { return nil }
      news = .released(
        DeviceRelease(release.reason, at: min(release.at, received)), isGone: isGone)
    }
    let token = UnsafeRawBufferPointer(rebasing: record.key[..<device.tokenBytes])
    let app = UnsafeRawBufferPointer(rebasing: record.key[device.appBytes])
    self.init(
      PushFacts.hash(token), app: AppHash.of(app.bindMemory(to: UInt8.self).span),
      device.environment, news)
  }
}
