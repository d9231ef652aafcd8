// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import SenderDecisions
import ServiceKit

/// Follows `push.invalid-tokens` for the loops: which devices were removed or have changed their owner within the last
/// day. What was requested before is not sent to them any more. Owned by the control thread.
final class DeviceFeed {
  /// So much of the topic's past is read, in milliseconds: no push is older.
  static let past = Int64(ReleasedDevices.memory)

  let topic: FollowedTopic

  init(_ topic: FollowedTopic) { self.topic = topic }

  /// Hands on what has come. Waits for nothing.
  func turn(_ tell: (LoopMessage) -> Void) {
    var news: [DeviceNews] = []
    let now = WallClock.milliseconds()
    topic.follow { record in
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
