// SPDX-License-Identifier: Apache-2.0
internal import Telemetry

/// An event waiting to be sent, as its JSON text.
public struct WebhookEvent: Sendable, Equatable {
  /// The offset of its record, and its line in that record, from 0.
  public let offset: Int64
  public let line: Int
  /// The record's timestamp, in milliseconds since the epoch; −1 for none.
  public let recordedAt: Int64
  /// When it happened, milliseconds since the epoch.
  public let time: Int64
  /// The JSON object in the request.
  public let text: [UInt8]

  /// - Parameter data: JSON text, sent unchanged.
  public init(
    _ kind: EventKind, _ data: [UInt8], topic: String, partition: Int32, offset: Int64, line: Int,
    recordedAt: Int64, time: Int64
  ) {
    self.offset = offset
    self.line = line
    self.recordedAt = recordedAt
    self.time = time
    let id = "\(topic)/\(partition)/\(offset)/\(line)@\(max(0, recordedAt))"
    let head =
      "{\"id\":\"\(id)\",\"type\":\"\(kind.rawValue)\",\"timestamp\":\"\(Self.timestamp(time))\",\"data\":"
    text = Array(head.utf8) + data + [UInt8(ascii: "}")]
  }

  /// A time in RFC 3339; one outside its years is shown as the nearest.
  static func timestamp(_ milliseconds: Int64) -> String {
    Timestamp.text(milliseconds: min(max(0, milliseconds), 253_402_300_799_999))
  }
}

/// The events sent in one request. The same events form the same batch, byte for byte, in every process.
public struct WebhookBatch: Sendable, Equatable {
  /// `webhook-id`.
  public let id: String
  public let body: [UInt8]
  public let count: Int
  /// The offsets of the first and the last record with events in it.
  public let offsets: ClosedRange<Int64>

  /// - Parameter events: ordered events of one partition; at least one.
  init(_ events: ArraySlice<WebhookEvent>, endpoint: String, topic: String, partition: Int32) {
    let first = events[events.startIndex]
    let last = events[events.endIndex - 1]
    count = events.count
    offsets = first.offset...last.offset
    // A dot would end the id in the signed content. The time distinguishes a topic from a later one of the same name.
    let name = topic.split(separator: ".", omittingEmptySubsequences: false).joined(separator: "-")
    id =
      "msg_\(endpoint)_\(name)_\(partition)_\(first.offset)-\(first.line)_\(last.offset)-\(last.line)"
      + "_\(max(0, first.recordedAt))"
    let head =
      "{\"type\":\"martlet.events\",\"timestamp\":\"\(WebhookEvent.timestamp(last.time))\",\"data\":["
    var body = Array(head.utf8)
    body.reserveCapacity(events.reduce(body.count + 2) { $0 + $1.text.count + 1 })
    for (place, event) in events.enumerated() {
      if place > 0 { body.append(UInt8(ascii: ",")) }
      body += event.text
    }
    self.body = body + [UInt8(ascii: "]"), UInt8(ascii: "}")]
  }
}
