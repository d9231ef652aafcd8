// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import HTTPServer
import Records
import ServiceKit
import Synchronization

/// The reports of the admin API other than the requests.
extension AdminAPI {
  /// The notifications that devices have received, in order of delivery. Query: `token`, `app`, `visible=true` for what
  /// is left on the screens, `undelivered=true` to include what never reached a device.
  func delivered(_ request: HTTPRequest) -> HTTPResponse {
    let known = ["token", "app", "visible", "undelivered"]
    if let other = request.query.first(where: { !known.contains($0.name) }) {
      return Self.problem(
        "\(other.name) is not known: the query may have \(known.joined(separator: ", "))")
    }
    for flag in ["visible", "undelivered"] {
      guard [nil, "true", "false"].contains(request.query(flag)) else {
        return Self.problem("\(flag) must be true or false")
      }
    }
    let token = request.query("token").map { Array($0.lowercased().utf8) }
    let app = request.query("app").map { Array($0.utf8) }
    func isWanted(_ itsToken: [UInt8], _ itsApp: [UInt8]) -> Bool {
      (token == nil || token == itsToken) && (app == nil || app == itsApp)
    }
    let isVisible = request.query("visible") == "true"
    var buffer = ByteBuffer(capacity: 4_096)
    for line in deliveryLines()
    where isWanted(line.delivery.token, line.delivery.app) && !(isVisible && line.hidden != nil) {
      Self.json(line).write(into: &buffer)
      buffer.append(UInt8(ascii: "\n"))
    }
    if request.query("undelivered") == "true", !isVisible {
      let now = now
      for lost in world.withExchange({ $0.store.undelivered(now: now) })
      where isWanted(lost.push.token, lost.push.app) {
        Self.json(lost).write(into: &buffer)
        buffer.append(UInt8(ascii: "\n"))
      }
    }
    return HTTPResponse(contentType: "application/x-ndjson", body: .bytes(Array(buffer.bytes)))
  }

  private func deliveryLines() -> [DeliveryView.Line] {
    let waited = world.withExchange { $0.deliveries }
    return DeliveryView.lines(
      loops.flatMap { $0.log.deliveries() } + waited,
      activityLifetime: world.known.rules.activityLifetime, facts: { BodyFacts($0.body) })
  }

  private static func json(_ line: DeliveryView.Line) -> JSONValue {
    let delivery = line.delivery
    var object = JSONObject()
    describe(
      &object, delivery.id, token: delivery.token, app: delivery.app, delivery.type,
      delivery.priority, collapseID: delivery.collapseID)
    object.append("received", .integer(delivery.receivedAt))
    object.append("delivered", .integer(delivery.deliveredAt))
    if let kind = delivery.overBudget { object.append("dropped", .string(kind.name)) }
    object.append("waited", .bool(delivery.deliveredAt != delivery.receivedAt))
    object.append("replaced", .bool(line.isReplaced))
    object.append("duplicate", .bool(line.isDuplicate))
    if let hidden = line.hidden { object.append("not_shown", .string(hidden.name)) }
    if let body = delivery.body { object.append("body", text(body)) }
    return .object(object)
  }

  private static func json(_ lost: UndeliveredPush) -> JSONValue {
    let push = lost.push
    var object = JSONObject()
    describe(
      &object, push.id, token: push.token, app: push.app, push.type, push.priority,
      collapseID: push.collapseID)
    object.append("received", .integer(push.receivedAt))
    object.append("delivered", .null)
    object.append("not_shown", .string(lost.reason.rawValue))
    object.append("body", text(push.body))
    return .object(object)
  }

  private static func describe(
    _ object: inout JSONObject, _ id: SpelledID, token: [UInt8], app: [UInt8], _ type: PushType?,
    _ priority: UInt8, collapseID: [UInt8]?
  ) {
    object.append("token", text(token))
    object.append("app", text(app))
    object.append("apns_id", .string(id.description))
    if let type { object.append("type", .string(type.description)) }
    object.append("priority", .integer(Int64(priority)))
    if let collapseID { object.append("collapse_id", text(collapseID)) }
  }

  private static func text(_ bytes: [UInt8]) -> JSONValue {
    .string(String(decoding: bytes, as: UTF8.self))
  }

  /// The open connections of every loop.
  func connections() -> HTTPResponse {
    Self.answer(["connections": .array(openConnections().map(json))])
  }

  private func json(_ connection: ConnectionReport) -> JSONValue {
    let service = connection.role.service == .device ? "device" : "management"
    return [
      "id": .integer(Int64(connection.id)),
      "number": .integer(Int64(world.number(ofConnection: connection.id))),
      "environment": .string(connection.role.environment.description),
      "service": .string(service), "client": .string(connection.peer),
      "server_name": connection.serverName.map { .string($0) } ?? .null,
      "opened": .integer(connection.openedAt),
      "mode": .string(connection.hasCertificate ? "certificate" : "token"),
      "certificate_topics": .array(connection.certificateTopics.map { .string($0) }),
      "team": connection.team.map { .string($0) } ?? .null,
      "key_ids": .array(connection.keyIDs.map { .string($0) }),
      "limit": .integer(Int64(connection.limit)),
      "open_streams": .integer(Int64(connection.openStreams)),
      "requests": .integer(Int64(connection.requests)),
      "error_score": .integer(Int64(connection.errorScore)),
    ]
  }

  /// Every broadcast channel.
  func channels() -> HTTPResponse {
    let all = world.channels.withLock { $0.all }
    let now = now
    let list = all.map { channel -> JSONValue in
      var object = JSONObject()
      object.append("id", .string(channel.id))
      object.append("app", .string(channel.app))
      object.append("environment", .string(channel.environment.description))
      object.append("storage_policy", .integer(channel.storesMessages ? 1 : 0))
      object.append("published", .integer(Int64(channel.published)))
      if let stored = channel.stored, stored.until > now {
        object.append("stored_until", .integer(stored.until))
        object.append("stored_body", .string(String(decoding: stored.body, as: UTF8.self)))
      }
      return .object(object)
    }
    return Self.answer(["channels": .array(list)])
  }

  /// The switches of all behaviours.
  func profile() -> HTTPResponse {
    let known = world.known
    var object = JSONObject()
    object.append("profile", .string(profiles.name))
    for behaviour in Behaviour.table where behaviour.isSwitch {
      object.append(behaviour.name, .string(known.rules.text(of: behaviour.name) ?? ""))
    }
    object.append("latency", .string(known.latency.text))
    object.append("service", .string(known.service.rawValue))
    object.append("clock_ahead", .integer(world.clockAhead))
    return Self.answer(.object(object))
  }

  /// Applies a profile and sets behaviours, the latency and the service state by name.
  func setProfile(_ value: JSONValue) throws(GatewayFileError) -> Int {
    let change = try ProfileChange(value)
    if let name = change.profile { try profiles.choose(name) }
    try world.apply(change)
    return value.object?.members.count ?? 0
  }
}
