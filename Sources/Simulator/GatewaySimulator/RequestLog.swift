// SPDX-License-Identifier: Apache-2.0
public import Contract
public import EventLoop
import GatewayModel
import HTTP2
import Records
import Synchronization

/// The requests that one loop has received, for the report. Bounded: requests beyond the limit are only counted, and
/// header fields and bodies are kept for the newest ones only.
public final class RequestLog: Sendable {
  struct Entry: Sendable {
    var record: RequestRecord
    var textStart: Int
    /// The length of the device token or channel id.
    var tokenCount: UInt16
    var collapseCount: UInt8
    var hasCollapseID: Bool
    var priority: UInt8
    var topic: UInt16
    var type: PushType?
    /// The number of its header fields and body among all that were ever kept.
    var detail: Int
  }

  private struct Store: Sendable {
    var entries: [Entry] = []
    var text: [UInt8] = []
    var topics: [[UInt8]] = []
    /// The newest details: number n is at index n % limit.
    var details: [RequestDetail] = []
    /// The number of details that were ever kept.
    var detailCount = 0

    /// Returns the header fields and body with this number, if they are still kept.
    func detail(_ number: Int) -> RequestDetail? {
      guard number < detailCount, number >= detailCount - details.count else { return nil }
      return details[number % details.count]
    }

    mutating func keep(_ request: borrowing ServerRequest, atMost limit: Int) {
      if details.count < limit { details.append(RequestDetail()) }
      details[detailCount % limit].keep(request)
      detailCount += 1
    }
  }

  private static let unknownTopic = UInt16.max
  private let store = Mutex(Store())
  private let limit: Int
  private let detailLimit: Int
  private let types: PushTypes

  /// - Parameters:
  ///   - limit: The maximum number of recorded requests.
  ///   - detailLimit: The number of newest requests whose header fields and body are kept.
  public init(limit: Int, detailLimit: Int = 0, types: PushTypes = .builtIn) {
    self.types = types
    self.limit = limit
    self.detailLimit = detailLimit
  }

  public var count: Int { store.withLock { $0.entries.count } }

  public func clear() { store.withLock { $0 = Store() } }

  /// Records a request; returns false if there is no room left.
  func append(
    _ record: RequestRecord, _ push: PushFields, _ request: UnsafeMutablePointer<ServerRequest>
  ) -> Bool {
    store.withLock { store in
      guard store.entries.count < limit else { return false }
      let token = (record.kind == .push ? push.deviceToken : push.channelID).map {
        UnsafeRawBufferPointer(rebasing: $0.prefix(1_024))
      }
      let collapse = push.collapseID.map { UnsafeRawBufferPointer(rebasing: $0.prefix(64)) }
      let detail = store.detailCount
      if detailLimit > 0 { store.keep(request.pointee, atMost: detailLimit) }
      store.entries.append(
        Entry(
          record: record, textStart: store.text.count, tokenCount: UInt16(token?.count ?? 0),
          collapseCount: UInt8(collapse?.count ?? 0), hasCollapseID: collapse != nil,
          priority: UInt8(clamping: push.priority?.decimal ?? 0),
          topic: Self.place(of: push.topic, in: &store.topics),
          type: push.pushType?.pushType(in: types), detail: detail))
      if let token { store.text.append(contentsOf: token) }
      if let collapse { store.text.append(contentsOf: collapse) }
      return true
    }
  }

  private static func place(
    of topic: UnsafeRawBufferPointer?, in topics: inout [[UInt8]]
  ) -> UInt16 {
    guard let topic else { return unknownTopic }
    // A few topics recur; a series of ever new ones is not worth remembering.
    if let place = topics.firstIndex(where: { topic.equals($0) }) { return UInt16(place) }
    guard topics.count < 1_000 else { return unknownTopic }
    topics.append(Array(topic))
    return UInt16(topics.count - 1)
  }

  /// Appends up to `most` entries from `start` on as lines of JSON; returns how many.
  public func write(from start: Int, atMost most: Int, into buffer: inout ByteBuffer) -> Int {
    let (entries, text, topics, details) = store.withLock { store in
      let end = min(start + most, store.entries.count)
      guard start < end else { return ([Entry](), [UInt8](), [[UInt8]](), [Int: RequestDetail]()) }
      let entries = Array(store.entries[start..<end])
      let last = entries[entries.count - 1]
      var details: [Int: RequestDetail] = [:]
      for entry in entries { details[entry.detail] = store.detail(entry.detail) }
      return (
        entries, Array(store.text[entries[0].textStart..<last.textEnd]), store.topics, details
      )
    }
    let base = entries.first?.textStart ?? 0
    for entry in entries {
      let part = text[entry.textStart - base..<entry.textEnd - base]
      write(entry, text: part, topics, details[entry.detail], into: &buffer)
    }
    return entries.count
  }

  private func write(
    _ entry: Entry, text: ArraySlice<UInt8>, _ topics: [[UInt8]], _ detail: RequestDetail?,
    into buffer: inout ByteBuffer
  ) {
    let record = entry.record
    buffer.append(record.kind == .push ? "{\"apns_id\":\"" as StaticString : "{\"request_id\":\"")
    let id = record.id.characters
    for index in 0..<NotificationID.textLength { buffer.append(id[index]) }
    buffer.append(record.kind == .push ? "\",\"token\":\"" as StaticString : "\",\"channel\":\"")
    text.prefix(Int(entry.tokenCount)).withUnsafeBytes { buffer.append(jsonEscaped: $0) }
    buffer.append("\"")
    if entry.topic != Self.unknownTopic {
      buffer.append(",\"topic\":\"")
      topics[Int(entry.topic)].withUnsafeBytes { buffer.append(jsonEscaped: $0) }
      buffer.append("\"")
    }
    if let type = entry.type {
      buffer.append(",\"type\":\"")
      buffer.append(types.name(of: type))
      buffer.append("\"")
    }
    if entry.hasCollapseID {
      buffer.append(",\"collapse_id\":\"")
      text.suffix(Int(entry.collapseCount)).withUnsafeBytes { buffer.append(jsonEscaped: $0) }
      buffer.append("\"")
    }
    Self.writeOutcome(record, into: &buffer)
    if let detail { Self.write(detail, into: &buffer) }
    buffer.append("}\n")
  }

  private static func writeOutcome(_ record: RequestRecord, into buffer: inout ByteBuffer) {
    buffer.append(",\"status\":")
    buffer.append(decimal: Int64(record.status))
    if let reason = record.reason {
      buffer.append(",\"reason\":\"")
      buffer.append(reason.name)
      buffer.append("\"")
    }
    if let fate = record.fate {
      buffer.append(",\"fate\":\"")
      buffer.append(fate.name)
      buffer.append("\"")
    }
    if record.isBrokenJSON { buffer.append(",\"broken_json\":true") }
    buffer.append(",\"kind\":\"")
    buffer.append(record.kind.rawValue)
    buffer.append("\",\"environment\":\"")
    buffer.append(record.environment.name)
    buffer.append("\",\"connection\":")
    buffer.append(decimal: Int64(record.connection))
    buffer.append(",\"stream\":")
    buffer.append(decimal: Int64(record.stream))
    buffer.append(",\"time\":")
    buffer.append(decimal: record.time)
  }

  private static func write(_ detail: RequestDetail, into buffer: inout ByteBuffer) {
    let fields = detail.fields.map { field in
      JSONValue.array([.string(field.name), .string(field.value), .bool(field.isNeverIndexed)])
    }
    buffer.append(",\"headers\":")
    JSONValue.array(fields).write(into: &buffer)
    buffer.append(",\"body_bytes\":")
    buffer.append(decimal: Int64(detail.bodyTotal))
    buffer.append(",\"body\":\"")
    detail.body.withUnsafeBytes { buffer.append(jsonEscaped: $0) }
    buffer.append("\"")
  }

  /// The notifications that were delivered at once.
  func deliveries() -> [Delivery] {
    let store = store.withLock { $0 }
    return store.entries.compactMap { entry in
      let overBudget: BudgetKind?
      switch entry.record.fate {
      case .delivered: overBudget = nil
      case .overBudget(let kind): overBudget = kind
      default: return nil
      }
      let text = store.text[entry.textStart..<entry.textEnd]
      let type = entry.type
      let suffix = type.map { types.suffixLength(of: $0) } ?? 0
      let topic = entry.topic == Self.unknownTopic ? [] : store.topics[Int(entry.topic)]
      let detail = store.detail(entry.detail)
      return Delivery(
        id: entry.record.id, token: text.prefix(Int(entry.tokenCount)).map(Self.lowered),
        app: Array(topic.dropLast(suffix)),
        collapseID: entry.hasCollapseID ? Array(text.suffix(Int(entry.collapseCount))) : nil,
        type: type, priority: entry.priority == 0 ? type?.defaultPriority ?? 10 : entry.priority,
        receivedAt: entry.record.time, deliveredAt: entry.record.time, body: detail?.body,
        overBudget: overBudget)
    }
  }

  private static func lowered(_ digit: UInt8) -> UInt8 {
    (0x41...0x46).contains(digit) ? digit | 0x20 : digit
  }
}

extension RequestLog.Entry {
  fileprivate var textEnd: Int { textStart + Int(tokenCount) + Int(collapseCount) }
}
