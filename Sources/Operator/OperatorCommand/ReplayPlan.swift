// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records

/// The topic that a dead letter is replayed to, or the reason why it is not.
enum ReplayPlan: Equatable {
  /// The reason why a letter is not replayed.
  enum Obstacle: String, CaseIterable {
    /// Not a readable request or notification: it would become a dead letter again.
    case unreadable
    /// Its lane is not in `--lanes`.
    case unknownLane = "unknown_lane"
    /// The value was too long for the topic and was truncated.
    case cut
    /// Its `apns-expiration` has passed.
    case expired
    /// It does not name the process that wrote it.
    case unknownStage = "unknown_stage"
    case webhook
  }

  /// A nil value is a tombstone.
  case send(topic: String, key: [UInt8]?, value: [UInt8]?)
  case skip(Obstacle)
}

/// Creates the records to replay for dead letters. Their `apns-id`s are those of the first attempt, so a letter that is
/// replayed twice is sent once.
struct ReplayPlanner {
  let names: TopicNames
  let parser: JSONParser
  private let reader: RequestReader

  init(_ names: TopicNames, _ parser: JSONParser) {
    self.names = names
    self.parser = parser
    reader = RequestReader(types: .any, lanes: names.lanes)
  }

  /// - Parameter now: Milliseconds since the epoch.
  func plan(_ letter: DeadLetterEntry, now: Int64) -> ReplayPlan {
    if DeadLetterCut.isRemarked(letter.detail) { return .skip(.cut) }
    return switch letter.stage {
    // What ingest has produced, but its topic has not accepted, is a notification, or a request for the schedule.
    case DeadLetterStage.ingest.rawValue
    where letter.reason == DeadLetterReason.recordTooLarge.rawValue && letter.isNotification:
      notification(letter, now)
    case DeadLetterStage.ingest.rawValue: request(letter)
    case DeadLetterStage.sender.rawValue: notification(letter, now)
    case DeadLetterStage.feedback.rawValue:
      [names.feedback, names.devices].contains(letter.originTopic)
        ? .send(topic: letter.originTopic, key: letter.key, value: letter.value)
        : .skip(.unknownStage)
    case DeadLetterStage.scheduler.rawValue:
      letter.originTopic == names.schedule
        ? .send(topic: names.schedule, key: letter.key, value: letter.value ?? [])
        : .skip(.unknownStage)
    case DeadLetterStage.webhooks.rawValue: .skip(.webhook)
    default: .skip(.unknownStage)
    }
  }

  // MARK: Requests

  private func request(_ letter: DeadLetterEntry) -> ReplayPlan {
    guard let value = letter.value, let object = (try? parser.parse(value))?.object else {
      return .skip(.unreadable)
    }
    if letter.reason == DeadLetterReason.invalidToken.rawValue { return oneToken(letter, value) }
    let isNamed = object.given("id") != nil || object.given("apns_id") != nil
    return .send(
      topic: home(letter), key: letter.key, value: isNamed ? value : named(value, letter.origin))
  }

  /// The request topic that the letter came from: only the topic tells which requests are campaigns'.
  private func home(_ letter: DeadLetterEntry) -> String {
    letter.originTopic == names.campaignRequests ? names.campaignRequests : names.requests
  }

  /// A request without an id is named by its position, which becomes its id to keep the name on another topic.
  private func named(_ value: [UInt8], _ origin: String) -> [UInt8] {
    guard !origin.isEmpty, let brace = value.firstIndex(of: UInt8(ascii: "{")) else { return value }
    var result = Array(value[...brace])
    result += "\"id\":".utf8
    result += JSONValue.string(origin).text
    let rest = value[(brace + 1)...]
    let first = rest.first { !" \n\r\t".utf8.contains($0) }
    if first != UInt8(ascii: "}") { result.append(UInt8(ascii: ",")) }
    return result + rest
  }

  /// The request again for the rejected token only: its other tokens were handled.
  private func oneToken(_ letter: DeadLetterEntry, _ value: [UInt8]) -> ReplayPlan {
    guard let token = letter.letter.token else { return .skip(.unreadable) }
    reader.takesCampaigns = letter.originTopic == names.campaignRequests
    let text = value.withUnsafeBytes { bytes -> [UInt8]? in
      guard let request = try? reader.read(bytes) else { return nil }
      return Self.text(of: request, token: token, origin: letter.origin)
    }
    guard let text else { return .skip(.unreadable) }
    return .send(topic: home(letter), key: letter.key, value: text)
  }

  private static func text(
    of request: borrowing PushRequest, token: String, origin: String
  ) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 8 << 10)
    buffer.append("{\"app\":" as StaticString)
    buffer.append(jsonString: String(decoding: request.app, as: UTF8.self))
    func member(_ name: String, _ value: String) {
      buffer.append(",\"" as StaticString)
      buffer.append(name)
      buffer.append("\":" as StaticString)
      buffer.append(jsonString: value)
    }
    if !request.id.isEmpty {
      buffer.append(",\"id\":\"" as StaticString)
      buffer.append(request.escapedID)
      buffer.append("\"" as StaticString)
    } else if !origin.isEmpty {
      member("id", origin)
    }
    member("token", token)
    member("environment", request.environment.description)
    member("type", String(decoding: request.typeName, as: UTF8.self))
    member("lane", String(decoding: request.laneName, as: UTF8.self))
    for row in CarriedField.texts where !request[row.field].isEmpty {
      member(row.request?.name ?? "", String(decoding: request[row.field], as: UTF8.self))
    }
    if !request.headers.isEmpty {
      buffer.append(",\"headers\":")
      request.headers.appendObject(to: &buffer)
    }
    if let data = request.data {
      buffer.append(",\"data\":")
      data.appendObject(to: &buffer)
    }
    if !request.topic.isEmpty { member("topic", String(decoding: request.topic, as: UTF8.self)) }
    if let id = request.apnsID { member("apns_id", id.description) }
    buffer.append(",\"priority\":" as StaticString)
    buffer.append(decimal: Int64(request.priority))
    if let expiration = request.expiration {
      buffer.append(",\"expiration\":" as StaticString)
      buffer.append(decimal: expiration)
    }
    if let seconds = request.expiresIn {
      buffer.append(",\"expires_in\":" as StaticString)
      buffer.append(decimal: seconds)
    }
    buffer.append(",\"payload\":" as StaticString)
    buffer.append(request.payload)
    buffer.append("}" as StaticString)
    return Array(buffer.bytes)
  }

  // MARK: Notifications

  /// The notification as new: no attempts, created now (otherwise its lane's age limit would end it at once), and
  /// marked with its dead letter.
  private func notification(_ letter: DeadLetterEntry, _ now: Int64) -> ReplayPlan {
    guard let value = letter.value, let envelope = letter.envelope,
      isKey(letter.key ?? [], of: envelope)
    else { return .skip(.unreadable) }
    if let expiration = envelope.expiration, expiration != 0, expiration * 1_000 <= now {
      return .skip(.expired)
    }
    guard let lane = names.lanes.find(letter.text(envelope.laneText)) else {
      return .skip(.unknownLane)
    }
    var again = ByteBuffer(capacity: value.count + 64)
    value.withUnsafeBytes {
      EnvelopeEncoder.encodeReplay(
        of: $0, envelope, created: now,
        mark: ReplayMark.text(partition: letter.partition, offset: letter.offset), into: &again)
    }
    return .send(topic: names.notifications(lane), key: letter.key, value: Array(again.bytes))
  }

  /// Whether a sender would accept the key; otherwise the letter would come back.
  private func isKey(_ key: [UInt8], of envelope: Envelope) -> Bool {
    switch envelope.target {
    case .device: (try? DeviceToken.validate(key.span)) != nil
    case .channel: (try? ChannelID.validate(key.span)) != nil
    }
  }
}
