// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import EventLoop
import GatewayModel
import HTTPServer
import JSON
import ServiceKit
import Synchronization

/// The reports of the admin port beyond the requests themselves.
extension AdminAPI {
  /// The notifications that devices have received, in the order of delivery. The query may name a `token`, an `app`,
  /// and `visible=true` for what is left on the screens: without what shows nothing.
  func delivered(_ request: HTTPRequest) -> HTTPResponse {
    let known = ["token", "app", "visible"]
    if let other = request.query.first(where: { !known.contains($0.name) }) {
      return Self.problem("\(other.name) is not known: the query may have token, app, visible")
    }
    let visible = request.query("visible")
    guard visible == nil || visible == "true" || visible == "false" else {
      return Self.problem("visible must be true or false")
    }
    let waited = world.withExchange { $0.deliveries }
    var lines = DeliveryView.lines(loops.flatMap { $0.log.deliveries() } + waited)
    if let token = request.query("token") {
      let wanted = Array(token.lowercased().utf8)
      lines.removeAll { $0.delivery.token != wanted }
    }
    if let app = request.query("app") {
      lines.removeAll { $0.delivery.app != Array(app.utf8) }
    }
    if visible == "true" {
      lines.removeAll {
        $0.isReplaced || $0.isDuplicate
          || !$0.delivery.isShown(isSilent: Self.isSilent($0.delivery.body))
      }
    }
    var buffer = ByteBuffer(capacity: 200 * lines.count + 1)
    for line in lines {
      Self.json(line).write(into: &buffer)
      buffer.append(UInt8(ascii: "\n"))
    }
    return HTTPResponse(
      contentType: "application/x-ndjson", body: .bytes(Array(buffer.bytes)))
  }

  /// True for a body that wakes the app and has nothing to show.
  private static func isSilent(_ body: [UInt8]?) -> Bool {
    guard let body, let aps = try? JSONDocument(body).root["aps"],
      aps["content-available"]?.int == 1
    else { return false }
    return ["alert", "badge", "sound"].allSatisfy { aps[$0]?.isNull ?? true }
  }

  private static func json(_ line: DeliveryView.Line) -> JSONValue {
    let delivery = line.delivery
    func text(_ bytes: [UInt8]) -> JSONValue { .string(String(decoding: bytes, as: UTF8.self)) }
    var object = JSONObject()
    object.append("token", text(delivery.token))
    object.append("app", text(delivery.app))
    object.append("apns_id", .string(delivery.id.description))
    if let type = delivery.type { object.append("type", .string(type.description)) }
    object.append("priority", .integer(Int64(delivery.priority)))
    if let id = delivery.collapseID { object.append("collapse_id", text(id)) }
    object.append("received", .integer(delivery.receivedAt))
    object.append("delivered", .integer(delivery.deliveredAt))
    if delivery.isOverBudget { object.append("dropped", "background-budget") }
    object.append("waited", .bool(delivery.deliveredAt != delivery.receivedAt))
    object.append("replaced", .bool(line.isReplaced))
    object.append("duplicate", .bool(line.isDuplicate))
    if let body = delivery.body { object.append("body", text(body)) }
    return .object(object)
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
    let list = all.map { channel -> JSONValue in
      var object = JSONObject()
      object.append("id", .string(channel.id))
      object.append("app", .string(channel.app))
      object.append("environment", .string(channel.environment.description))
      object.append("storage_policy", .integer(channel.storesMessages ? 1 : 0))
      object.append("published", .integer(Int64(channel.published)))
      if let stored = channel.stored {
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

  /// Chooses a profile and switches behaviours, the latency and the service's state by their names.
  func setProfile(_ value: JSONValue) throws(GatewayFileError) -> Int {
    let change = try ProfileChange(value)
    if let name = change.profile { try profiles.choose(name) }
    try world.apply(change)
    return value.object?.members.count ?? 0
  }
}
