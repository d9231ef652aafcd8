// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Webhooks

/// Extracts the events of a record that an endpoint subscribes to.
struct EventReader {
  struct Result {
    var events: [WebhookEvent] = []
    /// The number of events not subscribed to.
    var unwanted = 0
    /// The number of lines that cannot be read as the topic's records.
    var unreadable = 0
  }

  private let subscription: Subscription
  private let names: TopicNames
  private let parser = JSONParser()

  init(_ subscription: Subscription, _ names: TopicNames) {
    self.subscription = subscription
    self.names = names
  }

  func read(_ record: KafkaRecord, from source: EventSource) -> Result {
    // A release tells senders about a device and is not an event: it follows from one of `push.devices`.
    if source == .invalidTokens, record.headerBytes(named: DeviceRelease.header) != nil {
      return Result(unwanted: 1)
    }
    return read(
      source, key: record.key, value: record.value, partition: record.partition,
      offset: record.offset, recordedAt: record.timestamp)
  }

  func read(
    _ source: EventSource, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    partition: Int32, offset: Int64, recordedAt: Int64
  ) -> Result {
    let recordedAt = OutsideTime.known(recordTime: recordedAt)
    var result = Result()
    var line = 0
    func add(_ found: Found?) {
      defer { line += 1 }
      guard let found else {
        result.unreadable += 1
        return
      }
      guard
        subscription.wants(found.kind, app: found.app, reason: found.reason, at: found.time)
      else {
        result.unwanted += 1
        return
      }
      result.events.append(
        WebhookEvent(
          found.kind, found.data, topic: names.topic(source), partition: partition, offset: offset,
          line: line, recordedAt: recordedAt, time: found.time))
    }
    switch source {
    case .receipts: Receipt.forEachLine(in: value) { add(receipt($0)) }
    case .invalidTokens: add(invalidToken(key, value, recordedAt))
    case .devices:
      // A tombstone of a device is neither a registration nor a removal.
      if value.baseAddress != nil { add(device(key, value, recordedAt)) }
    }
    return result
  }

  private struct Found {
    let kind: EventKind
    let app: String?
    let reason: String?
    let time: Int64
    let data: [UInt8]
  }

  private func receipt(_ line: UnsafeRawBufferPointer) -> Found? {
    guard let object = object(line), let outcome = object["outcome"]?.string,
      let kind = EventKind(outcome: outcome), let time = object["at"]?.time
    else { return nil }
    return Found(
      kind: kind, app: object["app"]?.string, reason: object["reason"]?.string, time: time,
      data: Array(line))
  }

  private func invalidToken(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ recordedAt: Int64
  ) -> Found? {
    guard let device = DeviceKey(key: key) else { return nil }
    if value.baseAddress == nil {
      let data: JSONValue = [
        "token": .string(device.token), "app": .string(device.app),
        "environment": .string(device.environment.description),
      ]
      return Found(
        kind: .tokenRevived, app: device.app, reason: nil, time: max(0, recordedAt),
        data: data.text)
    }
    guard let record = InvalidTokenRecord(of: device, value, parser: parser) else { return nil }
    return Found(
      kind: .tokenInvalidated, app: device.app, reason: record.reason, time: record.at,
      data: Array(value))
  }

  /// A record of which feedback makes a dead letter is no event: the device is not registered or removed by it.
  private func device(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ recordedAt: Int64
  ) -> Found? {
    guard let record = try? DeviceRecord(value, parser: parser), record.device.isKey(key) else {
      return nil
    }
    let (kind, time): (EventKind, Int64) =
      switch record.event {
      case .registered(let time): (.tokenRegistered, time)
      case .removed(let time): (.tokenRemoved, time)
      }
    let received = OutsideTime.received(recordTime: recordedAt, now: WallClock.milliseconds())
    guard time - received <= OutsideTime.mostAhead else { return nil }
    return Found(
      kind: kind, app: record.device.app, reason: nil, time: time, data: Array(value))
  }

  private func object(_ text: UnsafeRawBufferPointer) -> JSONObject? {
    (try? parser.parse(text))?.object
  }
}
