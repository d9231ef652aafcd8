// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import GatewayModel
import Records

/// The response to a channel management request.
struct ChannelReply: Equatable {
  /// 200, 201 or 204.
  var status: UInt16
  var channelID: String?
  /// JSON; empty if there is none.
  var body: [UInt8] = []
}

/// Broadcasts and channel management (Apple, "Sending broadcast push notification requests to APNs",
/// "Sending channel management requests to APNs", "Handling error responses from APNs").
extension PushValidator {
  /// The largest body of a broadcast in bytes.
  private static let broadcastLimit = 5_120
  /// The largest body of a channel management request in bytes; Apple documents none.
  private static let managementLimit = 5_120

  /// Checks `POST /4/broadcasts/apps/APP`.
  mutating func judgeBroadcast(
    _ push: PushFields, app: UnsafeRawBufferPointer, _ access: inout ConnectionAccess,
    _ channels: ChannelRegistry, now: Int64
  ) -> PushJudgement {
    var judgement = PushJudgement()
    judgement.refusal =
      common(push, app: app, methods: ["POST"], &access, channels, &judgement, now)
    guard judgement.refusal == nil, !judgement.isSilent else { return judgement }
    judgement.refusal =
      broadcastHeaders(push) ?? broadcastBody(push, &judgement)
      ?? publish(push, app: app.text, channels, &judgement)
    return judgement
  }

  /// Checks a channel management request and returns its response.
  mutating func judgeManagement(
    _ push: PushFields, _ access: inout ConnectionAccess, _ channels: ChannelRegistry,
    newID: () -> String, now: Int64
  ) -> (PushJudgement, ChannelReply?) {
    var judgement = PushJudgement()
    guard let place = Self.managementPlace(push) else {
      judgement.refusal = Refusal(push.hasDuplicate ? .duplicateHeaders : .badPath)
      return (judgement, nil)
    }
    let methods = place.isList ? ["GET"] : ["GET", "POST", "DELETE"]
    judgement.refusal =
      common(push, app: place.app, methods: methods, &access, channels, &judgement, now)
    guard judgement.refusal == nil, !judgement.isSilent else { return (judgement, nil) }
    let app = place.app.text
    var reply: ChannelReply?
    if place.isList {
      let ids = channels.list(app: app, environment).map { JSONValue.string($0) }
      reply = ChannelReply(status: 200, body: (["channels": .array(ids)] as JSONValue).text)
    } else if push.method.spells("POST") {
      let id = newID()
      judgement.refusal = create(push, id, app, channels, &judgement)
      if judgement.refusal == nil { reply = ChannelReply(status: 201, channelID: id) }
    } else {
      judgement.refusal = readOrDelete(push, app, channels, &judgement, &reply)
    }
    return (judgement, reply)
  }

  /// Parses `/1/apps/APP/channels` or `/1/apps/APP/all-channels`.
  private static func managementPlace(
    _ push: PushFields
  ) -> (app: UnsafeRawBufferPointer, isList: Bool)? {
    guard let rest = push.path(after: "/1/apps/"),
      let slash = rest.firstIndex(of: UInt8(ascii: "/")), slash > 0
    else { return nil }
    let app = UnsafeRawBufferPointer(rebasing: rest[..<slash])
    let tail = UnsafeRawBufferPointer(rebasing: rest[(slash + 1)...])
    if tail.spells("channels") { return (app, false) }
    return tail.spells("all-channels") ? (app, true) : nil
  }

  /// The first checks of all these requests.
  private mutating func common(
    _ push: PushFields, app: UnsafeRawBufferPointer, methods: [String],
    _ access: inout ConnectionAccess, _ channels: ChannelRegistry,
    _ judgement: inout PushJudgement, _ now: Int64
  ) -> Refusal? {
    if push.hasDuplicate { return Refusal(.duplicateHeaders) }
    guard app.count > 0, Self.isTopic(app) else { return Refusal(.badPath) }
    guard methods.contains(push.method?.text ?? "") else { return Refusal(.methodNotAllowed) }
    if let refusal = identifier(push) { return refusal }
    if let refusal = credential(push, &access, &judgement, now) { return refusal }
    guard !judgement.isSilent else { return nil }
    let hasSuffix = PushType.allCases.contains { type in
      type.topicSuffix.utf8CodeUnitCount > 0 && app.hasSuffix(type.topicSuffix)
    }
    if hasSuffix { return Refusal(.topicDisallowed) }
    let isCovered =
      access.certificate?.allows(app) ?? providerTokens.allows(topic: app, access.binding)
    guard isCovered else { return Refusal(.topicMismatch) }
    return channels.isEnabled(app.text) ? nil : Refusal(.featureNotEnabled)
  }

  /// Checks the channel that the request names.
  private func channelRefusal(_ push: PushFields) -> Refusal? {
    guard let id = push.channelID, id.count > 0 else { return Refusal(.missingChannelId) }
    return id.withSpan { ChannelRegistry.isChannelID($0) } ? nil : Refusal(.badChannelId)
  }

  private func broadcastHeaders(_ push: PushFields) -> Refusal? {
    if let refusal = channelRefusal(push) { return refusal }
    guard let type = push.pushType, type.count > 0 else { return Refusal(.missingPushType) }
    // Apple writes it with and without capitals.
    guard type.text.lowercased() == "liveactivity" else { return Refusal(.invalidPushType) }
    guard let priority = push.priority?.decimal, [1, 5, 10].contains(priority) else {
      return Refusal(.badPriority)
    }
    return push.expiration?.decimal == nil ? Refusal(.badExpirationDate) : nil
  }

  private func broadcastBody(_ push: PushFields, _ judgement: inout PushJudgement) -> Refusal? {
    guard push.bodyCount > 0 else { return Refusal(.payloadEmpty) }
    guard push.bodyCount <= Self.broadcastLimit else { return Refusal(.payloadTooLarge) }
    guard rules.jsonCheck != .off else { return nil }
    judgement.isBrokenJSON = !parser.isObject(push.body)
    guard rules.jsonCheck == .strict else { return nil }
    guard !judgement.isBrokenJSON, let body = try? parser.parse(push.body) else {
      return Refusal(.badRequestPayload)
    }
    return PayloadRules.fitsBroadcast(body) ? nil : Refusal(.invalidPushType)
  }

  private func publish(
    _ push: PushFields, app: String, _ channels: ChannelRegistry,
    _ judgement: inout PushJudgement
  ) -> Refusal? {
    let id = push.channelID?.text ?? ""
    guard let channel = channels.find(id, app: app, environment) else {
      return Refusal(.channelNotRegistered)
    }
    let expiration = push.expiration?.decimal ?? 0
    guard channel.storesMessages || expiration == 0 else { return Refusal(.badExpirationDate) }
    judgement.channelChange = .publish(id, Array(push.body), expiration: expiration)
    return nil
  }

  private func create(
    _ push: PushFields, _ id: String, _ app: String, _ channels: ChannelRegistry,
    _ judgement: inout PushJudgement
  ) -> Refusal? {
    guard push.bodyCount > 0 else { return Refusal(.payloadEmpty) }
    guard push.bodyCount <= Self.managementLimit else { return Refusal(.payloadTooLarge) }
    guard let body = try? parser.parse(push.body), let fields = body.object else {
      return Refusal(.badRequestPayload)
    }
    let known = ["message-storage-policy", "push-type"]
    guard fields.keys.allSatisfy(known.contains), fields.duplicateKey == nil else {
      return Refusal(.badRequestParams)
    }
    guard let policy = body["message-storage-policy"]?.int, policy == 0 || policy == 1 else {
      return Refusal(.missingChannelQueueSize)
    }
    guard let type = body["push-type"] else { return Refusal(.missingPushType) }
    guard type.string?.lowercased() == "liveactivity" else { return Refusal(.invalidPushType) }
    judgement.channelChange = .create(id, app: app, environment, storesMessages: policy == 1)
    return channels.refusal(ofAnotherFor: app, environment, rules)
  }

  private func readOrDelete(
    _ push: PushFields, _ app: String, _ channels: ChannelRegistry,
    _ judgement: inout PushJudgement, _ reply: inout ChannelReply?
  ) -> Refusal? {
    if let refusal = channelRefusal(push) { return refusal }
    let id = push.channelID?.text ?? ""
    guard let channel = channels.find(id, app: app, environment) else {
      return Refusal(.channelNotRegistered)
    }
    if push.method.spells("DELETE") {
      judgement.channelChange = .delete(id, app: app, environment)
      reply = ChannelReply(status: 204)
    } else {
      let body: JSONValue = [
        "message-storage-policy": .integer(channel.storesMessages ? 1 : 0),
        "push-type": "LiveActivity",
      ]
      reply = ChannelReply(status: 200, body: body.text)
    }
    return nil
  }
}
