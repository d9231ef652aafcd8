// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// The tokens known to be invalid or removed: follows `push.invalid-tokens` from its beginning. And the devices that have
/// changed their owner within the last day, for requests that waited in the schedule.
///
/// Owner: the ingest loop.
final class InvalidTokens {
  let topic: FollowedTopic
  private let hash = KeyHash.random()
  private var keys: KeySet
  private var released = ReleasedDevices()
  private let parser = JSONParser()
  /// The number of records that were ignored: they have a value, and it is none of this topic's.
  private(set) var ignored = 0
  private var key = ByteBuffer(capacity: 1_024)
  /// `:<app>:<environment>` of the request at hand; empty until it is asked for.
  private var suffix = ByteBuffer(capacity: 512)

  init(
    _ topic: String, _ cluster: ClusterView, limit: Int, wakeup: Wakeup
  ) throws(KafkaError) {
    self.topic = try FollowedTopic(topic, cluster, wakeup: wakeup)
    keys = KeySet(limit: limit)
  }

  var count: Int { keys.count }
  /// Tokens that found no room, since the start.
  var refused: Int { keys.refused }

  /// Takes in what has been written since.
  func follow(timeoutMilliseconds: Int32 = 0) {
    // After the topic was read again from its start, only what is told again holds.
    topic.follow(
      timeoutMilliseconds: timeoutMilliseconds, forget: { keys.removeAll() },
      { record in
        let hashed = hash.value(record.key)
        let header = record.headerBytes(named: DeviceRelease.header)
        if record.value.baseAddress == nil {
          keys.remove(hashed)
          if let header { note(hashed, header, record.timestamp) }
        } else if InvalidTokenRecord.isOne(record.value, of: record.key, parser: parser) {
          keys.insert(hashed, isMarked: header != nil)
        } else {
          ignored += 1
        }
      })
  }

  private func note(_ device: KeyHash.Value, _ header: UnsafeRawBufferPointer, _ written: Int64) {
    let now = WallClock.milliseconds()
    let received = OutsideTime.received(recordTime: written, now: now)
    guard let release = DeviceRelease(header.bindMemory(to: UInt8.self).span),
      now - received < Int64(ReleasedDevices.memory)
    else { return }
    let bounded = DeviceRelease(release.reason, at: min(release.at, received))
    released.note(
      device.low, .released(bounded, isGone: false), now: MonotonicClock.milliseconds())
  }

  /// The tokens asked about from now on belong to another request.
  func begin() { suffix.removeAll() }

  private func writeSuffix(of request: borrowing PushRequest) {
    suffix.append(UInt8(ascii: ":"))
    suffix.append(request.app)
    suffix.append(UInt8(ascii: ":"))
    suffix.append(request.environment.name)
  }

  /// Why nothing is sent to a token (lower case) of the request's app and environment; nil if something may be.
  ///
  /// - Parameter scheduledAt: when a request that names the token was handed to the schedule, in milliseconds since the
  ///   epoch; nil for others, of which senders know when they were made.
  func suppression(
    of token: UnsafeRawBufferPointer, in request: borrowing PushRequest, scheduledAt: Int64?
  ) -> ReceiptCause? {
    if keys.count == 0, scheduledAt == nil { return nil }
    if suffix.isEmpty { writeSuffix(of: request) }
    key.removeAll()
    key.append(token)
    key.append(suffix.bytes)
    let hashed = hash.value(key.bytes)
    if let isRemoved = keys.find(hashed) { return isRemoved ? .removed : .invalidToken }
    guard let scheduledAt else { return nil }
    return released.reason(
      hashed.low, created: scheduledAt, now: MonotonicClock.milliseconds())?.cause
  }
}
