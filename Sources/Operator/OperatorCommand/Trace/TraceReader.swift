// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import Telemetry

/// Reads the hops about the subject from a record, if any.
struct TraceReader {
  enum Content: Sendable, Equatable {
    case requests, schedule, notifications, receipts, feedback, deadLetters, devices, invalidTokens
    case retries(String)
  }

  private let parser = JSONParser()

  func read(
    _ record: ShownRecord, of topic: String, _ content: Content, _ subject: TraceSubject,
    to hops: inout [TraceHop]
  ) {
    let place = "\(topic)/\(record.partition)/\(record.offset)"
    switch content {
    case .requests where subject.isNamedOrAsked(in: record.value):
      if let hop = request(record, place, subject) { hops.append(hop) }
    case .schedule where isEither(record, subject) || subject.isNamedOrAsked(in: record.key):
      if let hop = scheduled(record, place, subject) { hops.append(hop) }
    case .notifications where isEither(record, subject):
      if let hop = notification(record, place, subject, tier: nil) { hops.append(hop) }
    case .retries(let tier) where isEither(record, subject):
      if let hop = notification(record, place, subject, tier: tier) { hops.append(hop) }
    case .receipts where subject.isNamed(in: record.value):
      Receipt.forEachLine(in: record.value) { line in
        guard subject.isNamed(in: line), let hop = receipt(line, place, subject) else { return }
        hops.append(hop)
      }
    case .feedback:
      if let hop = answer(record, place, subject) { hops.append(hop) }
    case .deadLetters:
      if let hop = deadLetter(record, place, subject) { hops.append(hop) }
    case .devices where isOfDevice(record, subject):
      if let hop = device(record, place) { hops.append(hop) }
    case .invalidTokens where isOfDevice(record, subject):
      hops.append(invalidation(record, place))
    default: break
    }
  }

  /// Whether the record has the subject in its key (the token) or in its envelope.
  private func isEither(_ record: ShownRecord, _ subject: TraceSubject) -> Bool {
    subject.isNamed(in: record.key) || subject.isNamed(in: record.value)
  }

  /// Whether the record's key, which begins with a token, is of the subject's device.
  private func isOfDevice(_ record: ShownRecord, _ subject: TraceSubject) -> Bool {
    guard subject.isNamed(in: record.key) else { return false }
    let key = String(decoding: record.key, as: UTF8.self)
    return subject.matches(requestID: nil, apnsID: nil, token: key)
  }

  private func request(
    _ record: ShownRecord, _ place: String, _ subject: TraceSubject
  ) -> TraceHop? {
    guard let object = try? parser.parse(record.value) else { return nil }
    let tokens = self.tokens(of: object)
    let id = object["id"]?.string?.exact
    let own = object["apns_id"]?.string
    let owner = self.owner(of: object)
    guard
      subject.asks(requestID: id, owner: owner, tokens: tokens)
        || subject.matches(requestID: id, apnsID: own, token: nil)
    else { return nil }
    // A member that is null was left out.
    let isBroadcast = object["channel"]?.string != nil
    let type = object["type"]?.string ?? "\(RequestDefaults.type(isBroadcast: isBroadcast))"
    let target =
      if isBroadcast {
        "a channel"
      } else if object["tokens"]?.array == nil, let users = object.users {
        "\(users) user\(users == 1 ? "" : "s")"
      } else {
        "\(tokens.count) device\(tokens.count == 1 ? "" : "s")"
      }
    return TraceHop(
      kind: .requested, at: record.timestamp, place: place,
      detail: "\(type) for \(object["app"]?.string ?? "?") to \(target)", requestID: id,
      owner: owner, tokens: found(tokens, subject),
      traceParent: record.headers.last { $0.name == TraceParent.header }.map {
        String(decoding: $0.value, as: UTF8.self)
      })
  }

  /// Whose request it is; nil if it names no app.
  private func owner(of object: JSONValue) -> ExactText? {
    object["app"]?.string.map { app in
      "\(app):\(object["environment"]?.string ?? "\(Environment.production)")".exact
    }
  }

  /// The device tokens that a request names, in lower case.
  private func tokens(of object: JSONValue) -> [String] {
    let many = object["tokens"]?.array?.compactMap(\.string) ?? []
    let given = object["token"]?.string.map { [$0] } ?? many
    return given.map { (try? DeviceToken.normalized($0)) ?? $0.lowercased() }
  }

  private func found(_ tokens: [String], _ subject: TraceSubject) -> Set<String>? {
    tokens.isEmpty ? nil : Set(tokens.filter(subject.devices.contains))
  }

  private func scheduled(
    _ record: ShownRecord, _ place: String, _ subject: TraceSubject
  ) -> TraceHop? {
    guard let key = ScheduleKey(String(decoding: record.key, as: UTF8.self).exact) else {
      return nil
    }
    let (id, owner) = (key.id, "\(key.app):\(key.environment)".exact)
    let content = try? record.value.baseAddress.map { _ throws(RecordError) in
      try ScheduleRecord(record.value)
    }
    var hop = TraceHop(
      kind: .scheduled, at: record.timestamp, place: place, detail: "left the schedule",
      requestID: id, owner: owner)
    var tokens: [String] = []
    switch content {
    case .request(let request):
      hop = TraceHop(
        kind: .scheduled, at: record.timestamp, place: place,
        detail: "for \(Timestamp.text(milliseconds: request.due))", requestID: id,
        owner: owner, due: request.due,
        traceParent: request.traceParent.isEmpty ? nil : request.traceParent)
      let object = try? parser.parse(ScheduleRecord.request(in: record.value))
      tokens = object.map(self.tokens(of:)) ?? []
      hop.tokens = found(tokens, subject)
    case .cancellation(let cancellation):
      hop = TraceHop(
        kind: .scheduled, at: cancellation.at, place: place,
        detail: "cancelled by \(cancellation.by)", requestID: id, owner: owner,
        outcome: "\(Outcome.cancelled)")
    case .activity: return nil
    case nil where record.value.baseAddress != nil: return nil
    case nil: break
    }
    guard
      subject.asks(requestID: id, owner: owner, tokens: tokens)
        || subject.matches(requestID: id, apnsID: nil, token: nil)
    else { return nil }
    return hop
  }

  private func notification(
    _ record: ShownRecord, _ place: String, _ subject: TraceSubject, tier: String?
  ) -> TraceHop? {
    let value = Array(record.value)
    guard let envelope = try? Envelope.parse(value.span, types: .any, lanes: .any) else {
      return nil
    }
    func text(_ range: ByteRange) -> String {
      String(decoding: value[range.indices], as: UTF8.self)
    }
    func carried(_ field: CarriedField) -> String {
      String(decoding: envelope.carried(in: record.value)[field], as: UTF8.self)
    }
    let id = text(envelope.requestID)
    let apnsID = text(envelope.idText)
    let token = String(decoding: record.key, as: UTF8.self)
    guard
      subject.matches(
        requestID: unescaped(id)?.exact, apnsID: apnsID,
        token: envelope.target == .device ? token : nil)
    else { return nil }
    let detail: String
    if let tier {
      let attempts = envelope.attempt
      detail =
        "for \(tier) after \(attempts) attempt\(attempts == 1 ? "" : "s"): \(text(envelope.lastReason))"
    } else {
      let mark = carried(.replay)
      let replay = mark.isEmpty ? "" : ", \(replayed(mark))"
      detail = "\(text(envelope.pushTypeText)), priority \(envelope.priority)\(replay)"
    }
    let trace = carried(.traceParent)
    return TraceHop(
      kind: tier == nil ? .queued : .parked, at: record.timestamp, place: place, detail: detail,
      apnsID: apnsID.lowercased(), requestID: id.isEmpty ? nil : unescaped(id)?.exact,
      owner: "\(text(envelope.app)):\(envelope.environment)".exact,
      token: envelope.target == .device ? token.lowercased() : nil,
      traceParent: trace.isEmpty ? nil : trace)
  }

  /// A mark is a position of push.dead-letters or of push.receipts, and does not say of which.
  private func replayed(_ mark: String) -> String { "replay of dead letter or receipt \(mark)" }

  /// The content of a JSON string.
  private func unescaped(_ text: String) -> String? {
    text.contains("\\") ? (try? parser.parse("[\"\(text)\"]"))?.array?.first?.string : text
  }

  private func receipt(
    _ line: UnsafeRawBufferPointer, _ place: String, _ subject: TraceSubject
  ) -> TraceHop? {
    guard let receipt = try? Receipt(line, parser: parser),
      subject.matches(
        requestID: receipt.id?.exact, apnsID: receipt.apnsID.map { "\($0)" }, token: receipt.token)
    else { return nil }
    var parts = ["\(receipt.outcome)"]
    if let status = receipt.status { parts.append("status \(status)") }
    if let reason = receipt.reason { parts.append(reason) }
    if let attempts = receipt.attempts, attempts > 0 {
      parts.append("\(attempts) attempt\(attempts == 1 ? "" : "s")")
    }
    if let seconds = receipt.retryAfter { parts.append("retry-after \(seconds) s") }
    if let unique = receipt.uniqueID { parts.append("apns-unique-id \(unique)") }
    if let replay = receipt.replay { parts.append(replayed(replay)) }
    if let detail = receipt.detail { parts.append(detail) }
    return TraceHop(
      kind: .outcome, at: receipt.at, place: place, detail: parts.joined(separator: ", "),
      apnsID: receipt.apnsID.map { "\($0)".lowercased() }, requestID: receipt.id?.exact,
      owner: receipt.app.map { "\($0):\(receipt.environment ?? Environment.production)".exact },
      token: receipt.token?.lowercased(),
      outcome: "\(receipt.outcome)", traceParent: receipt.traceParent)
  }

  private func answer(
    _ record: ShownRecord, _ place: String, _ subject: TraceSubject
  ) -> TraceHop? {
    guard let object = try? parser.parse(record.value),
      let id = object["apns_id"]?.string?.lowercased(),
      subject.apnsIDs.contains(id.exact)
        || subject.matches(requestID: nil, apnsID: id, token: object["token"]?.string)
    else { return nil }
    let status = object["status"]?.int(100...599).map { "\($0) " } ?? ""
    return TraceHop(
      kind: .answered, at: object["at"]?.time ?? record.timestamp, place: place,
      detail: "\(status)\(object["reason"]?.string ?? "")", apnsID: id)
  }

  private func deadLetter(
    _ record: ShownRecord, _ place: String, _ subject: TraceSubject
  ) -> TraceHop? {
    let letter = DeadLetterEntry(
      partition: record.partition, offset: record.offset, timestamp: record.timestamp, key: nil,
      value: record.value.baseAddress == nil ? nil : Array(record.value), headers: record.headers)
    let token =
      letter.letter.token
      ?? (letter.envelope == nil ? nil : String(decoding: record.key, as: UTF8.self))
    let owner =
      letter.envelope.map { "\(letter.text($0.app)):\($0.environment)".exact }
      ?? letter.value.flatMap { (try? parser.parse($0)).flatMap(self.owner(of:)) }
    guard
      subject.matches(requestID: letter.requestID?.exact, apnsID: letter.apnsID, token: token)
        || subject.asks(requestID: letter.requestID?.exact, owner: owner, tokens: [])
    else { return nil }
    return TraceHop(
      kind: .deadLettered, at: letter.at, place: place,
      detail: "by \(letter.stage): \(letter.reason), \(letter.detail)",
      apnsID: letter.apnsID?.lowercased(), requestID: letter.requestID?.exact,
      owner: owner, traceParent: letter.letter.traceParent)
  }

  private func device(_ record: ShownRecord, _ place: String) -> TraceHop? {
    guard record.value.baseAddress != nil, let object = try? parser.parse(record.value) else {
      return TraceHop(
        kind: .removed, at: record.timestamp, place: place, detail: "registration removed")
    }
    let isRemoved = object["removed_at"]?.time != nil
    let app = object["app"]?.string ?? "?"
    return TraceHop(
      kind: isRemoved ? .removed : .registered,
      at: object["registered_at"]?.time ?? object["removed_at"]?.time ?? record.timestamp,
      place: place, detail: isRemoved ? "removed from \(app)" : "registered for \(app)")
  }

  private func invalidation(_ record: ShownRecord, _ place: String) -> TraceHop {
    guard record.value.baseAddress != nil, let object = try? parser.parse(record.value) else {
      return TraceHop(
        kind: .registered, at: record.timestamp, place: place, detail: "no longer invalid")
    }
    return TraceHop(
      kind: .invalidated, at: object["at"]?.time ?? record.timestamp, place: place,
      detail: "recorded as invalid: \(object["reason"]?.string ?? "")")
  }
}

extension JSONValue {
  fileprivate var users: Int? { self["user"]?.string.map { _ in 1 } ?? self["users"]?.array?.count }
}
