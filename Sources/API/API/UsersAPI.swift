// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka
import Records
import Store

/// `/v1/users`: the devices of a user, and their erasure.
enum UsersAPI {
  static let routes = [
    APIRoute("GET", "/v1/users/{user...}", .database, arguments: ["app"], list),
    APIRoute("DELETE", "/v1/users/{user...}", .database, arguments: ["app"], forget),
  ]

  private static let limit = 1_000

  private struct User {
    let name: ExactText
    /// nil for all apps.
    let app: String?

    init(_ request: APIRequest) throws(Problem) {
      name = request.values[0].exact
      guard name.text.utf8.count <= DeviceDetails.longest else {
        throw .field("user", "has more than \(DeviceDetails.longest) bytes")
      }
      app = try request.app()
    }

    /// The selected apps; nil for all.
    func apps(of allowed: Set<ExactText>) -> Set<ExactText>? {
      app.map { [$0.exact] } ?? allowed.limited
    }
  }

  private static func list(_ request: APIRequest) throws(Problem) -> APIAction {
    let user = try User(request)
    if let app = user.app { try request.demandRead(of: app) }
    let apps = user.apps(of: request.key.readable)
    return .ask(
      Query(.devices, answerBytes: 1 << 20) { (databases) throws(StoreError) in
        let found = try databases.tokens().devices(ofUser: user.name, apps: apps, limit: limit + 1)
        return .answer(
          .ok([
            "devices": .array(
              found.prefix(limit).map { .object(DevicesAPI.object($0.device, $0.state)) }),
            "has_more": .bool(found.count > limit),
          ]))
      })
  }

  /// Deletes the records of a user's devices, and ends requests waiting for them.
  private static func forget(_ request: APIRequest) throws(Problem) -> APIAction {
    let user = try User(request)
    if let app = user.app { try request.demandSend(for: app) }
    // A key that only reads would erase nothing, and be told that it has.
    guard !request.key.apps.isEmpty else {
      throw .forbidden("this key may not send for any app, and so erases nobody")
    }
    let apps = user.apps(of: request.key.apps)
    return .ask(
      Query([.devices, .schedule], answerBytes: 256 << 10) { (databases) throws(StoreError) in
        let devices = try databases.tokens().devices(
          ofUser: user.name, apps: apps, limit: limit + 1
        ).map(\.device)
        let erasure = try ScheduleErasure(
          of: user.name, devices, apps: apps, in: try databases.schedule())
        return .next { forget(devices, erasure, $0) }
      })
  }

  private static func forget(
    _ found: [DeviceKey], _ erasure: ScheduleErasure, _ request: APIRequest
  ) -> APIAction {
    let devices = found.prefix(limit)
    let response = HTTPResponse.ok(
      [
        "status": 202, "devices": .integer(Int64(devices.count)),
        "scheduled": .integer(Int64(erasure.changes.count)),
        "has_more": .bool(found.count > limit || erasure.hasMore),
      ], status: 202)
    // First, end what would still be sent to them.
    let records =
      erasure.changes.map { record($0, request) }
      + devices.map { APIRecord(topic: request.api.topics.devices, key: $0.bytes, value: nil) }
    return .produce(records) { request in
      for _ in devices {
        request.api.keys.figures.countChange(
          isRemoval: true, of: request.key, from: request.exchange.client)
      }
      return .answer(response)
    }
  }

  private static func record(_ change: ScheduleErasure.Change, _ request: APIRequest) -> APIRecord {
    let (topic, key) = (request.api.topics.schedule, change.key.bytes)
    switch change.kind {
    case .cancel:
      let record = ScheduleCancellation(at: WallClock.milliseconds(), by: request.key.actor)
      return APIRecord(topic: topic, key: key, value: record.value)
    case .replace(let value): return APIRecord(topic: topic, key: key, value: value)
    case .end(let identity):
      return APIRecord(
        topic: topic, key: key, value: nil,
        headers: [KafkaHeader(ScheduleRecord.endsHeader, "\(identity)")])
    }
  }
}

extension Set<ExactText> {
  /// The apps to which an answer is limited; nil for all.
  var limited: Set<ExactText>? { contains("*") ? nil : self }
}

extension HTTPResponse {
  static func ok(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: .bytes(value.text))
  }
}
