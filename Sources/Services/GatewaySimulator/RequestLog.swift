// SPDX-License-Identifier: Apache-2.0
import APNS
package import Bytes
import Synchronization

/// What one loop has received, for the report. Bounded: what comes after the limit is counted only.
package final class RequestLog: Sendable {
  struct Entry: Sendable {
    var time: Int64
    var id: NotificationID
    var tokenStart: Int
    var tokenCount: UInt16
    var status: UInt16
    var topic: UInt16
    /// Raw values; `none` for an absent one.
    var type: UInt8
    var reason: UInt8
  }

  private struct Store: Sendable {
    var entries: [Entry] = []
    var tokens: [UInt8] = []
    var topics: [[UInt8]] = []
  }

  private static let none = UInt8.max
  private static let unknownTopic = UInt16.max
  private let store = Mutex(Store())
  private let limit: Int

  package init(limit: Int) { self.limit = limit }

  package var count: Int { store.withLock { $0.entries.count } }

  package func clear() { store.withLock { $0 = Store() } }

  /// False when there is no room left.
  func append(
    _ push: PushFields, id: NotificationID, refusal: Refusal?, time: Int64
  ) -> Bool {
    store.withLock { store in
      guard store.entries.count < limit else { return false }
      let token = push.deviceToken.map { UnsafeRawBufferPointer(rebasing: $0.prefix(1_024)) }
      store.entries.append(
        Entry(
          time: time, id: id, tokenStart: store.tokens.count,
          tokenCount: UInt16(token?.count ?? 0), status: refusal?.reason.rule.status ?? 200,
          topic: Self.place(of: push.topic, in: &store.topics),
          type: push.pushType?.pushType?.rawValue ?? Self.none,
          reason: refusal?.reason.rawValue ?? Self.none))
      if let token { store.tokens.append(contentsOf: token) }
      return true
    }
  }

  private static func place(
    of topic: UnsafeRawBufferPointer?, in topics: inout [[UInt8]]
  ) -> UInt16 {
    guard let topic else { return unknownTopic }
    // Few topics come again and again; a stream of ever new ones is not worth remembering.
    if let place = topics.firstIndex(where: { topic.equals($0) }) { return UInt16(place) }
    guard topics.count < 1_000 else { return unknownTopic }
    topics.append(Array(topic))
    return UInt16(topics.count - 1)
  }

  /// Appends entries from `start` on as lines of JSON, at most `most` of them; returns how many.
  package func write(from start: Int, atMost most: Int, into buffer: inout ByteBuffer) -> Int {
    let (entries, tokens, topics) = store.withLock { store in
      let end = min(start + most, store.entries.count)
      guard start < end else { return ([Entry](), [UInt8](), [[UInt8]]()) }
      let first = store.entries[start].tokenStart
      let last = store.entries[end - 1]
      return (
        Array(store.entries[start..<end]),
        Array(store.tokens[first..<last.tokenStart + Int(last.tokenCount)]), store.topics
      )
    }
    let base = entries.first?.tokenStart ?? 0
    for entry in entries {
      let start = entry.tokenStart - base
      Self.write(
        entry, token: tokens[start..<start + Int(entry.tokenCount)], topics: topics, into: &buffer)
    }
    return entries.count
  }

  private static func write(
    _ entry: Entry, token: ArraySlice<UInt8>, topics: [[UInt8]], into buffer: inout ByteBuffer
  ) {
    buffer.append("{\"apns_id\":\"")
    let id = entry.id.characters
    for index in 0..<NotificationID.textLength { buffer.append(id[index]) }
    buffer.append("\",\"token\":\"")
    token.withUnsafeBytes { buffer.append(jsonEscaped: $0) }
    buffer.append("\"")
    if entry.topic != unknownTopic {
      buffer.append(",\"topic\":\"")
      topics[Int(entry.topic)].withUnsafeBytes { buffer.append(jsonEscaped: $0) }
      buffer.append("\"")
    }
    if let type = PushType(rawValue: entry.type) {
      buffer.append(",\"type\":\"")
      buffer.append(type.name)
      buffer.append("\"")
    }
    buffer.append(",\"status\":")
    buffer.append(decimal: Int64(entry.status))
    if let reason = Reason(rawValue: entry.reason) {
      buffer.append(",\"reason\":\"")
      buffer.append(reason.name)
      buffer.append("\"")
    }
    buffer.append(",\"time\":")
    buffer.append(decimal: entry.time)
    buffer.append("}\n")
  }
}
