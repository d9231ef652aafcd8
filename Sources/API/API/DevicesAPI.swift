// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTPServer
import Records
import Store

/// `/v1/devices` and `/v1/invalid-tokens`: registrations, removals, and queries about device tokens.
enum DevicesAPI {
  static let routes = [
    APIRoute("GET", "/v1/devices/{token}", .database, arguments: ofDevice, ask),
    APIRoute("PUT", "/v1/devices/{token}", .kafka, body: 4_096, register),
    APIRoute("DELETE", "/v1/devices/{token}", .kafka, arguments: ofDevice, remove),
    APIRoute(
      "GET", "/v1/invalid-tokens", .database,
      arguments: ["app", "environment", "since", "cursor", "limit"], listInvalid),
  ]

  private static let ofDevice = ["app", "environment"]

  private static func ask(_ request: APIRequest) throws(Problem) -> APIAction {
    let identity = try device(request)
    try request.demandRead(of: identity.app)
    return .ask(
      Query(.devices, answerBytes: 16 << 10) { (databases) throws(StoreError) in
        .answer(answer(identity, try databases.tokens().state(identity)))
      })
  }

  private static func register(_ request: APIRequest) throws(Problem) -> APIAction {
    let token = try Arguments.token(request.values[0])
    guard request.isComplete else { return .read }
    let record = try registration(token, request, now: WallClock.milliseconds())
    try request.demandSend(for: record.device.app)
    return produce(record, request, isRemoval: false)
  }

  private static func remove(_ request: APIRequest) throws(Problem) -> APIAction {
    let removed = try device(request)
    try request.demandSend(for: removed.app)
    let record = DeviceRecord(device: removed, event: .removed(at: WallClock.milliseconds()))
    return produce(record, request, isRemoval: true)
  }

  private static func produce(
    _ record: DeviceRecord, _ request: APIRequest, isRemoval: Bool
  ) -> APIAction {
    .produce([
      APIRecord(topic: request.api.topics.devices, key: record.key, value: record.value)
    ]) { request in
      request.api.keys.figures.countChange(
        isRemoval: isRemoval, of: request.key, from: request.exchange.client)
      return .answer(.accepted)
    }
  }

  private static func listInvalid(_ request: APIRequest) throws(Problem) -> APIAction {
    let page = try page(request)
    try request.demandRead(of: page.app)
    return .ask(
      Query(.devices, answerBytes: page.limit << 10) { (databases) throws(StoreError) in
        .answer(answer(try databases.tokens().invalidTokens(page), page))
      })
  }

  // MARK: Arguments

  private static func device(_ request: APIRequest) throws(Problem) -> DeviceKey {
    try Arguments.device(
      request.values[0], app: request.argument("app"), environment: request.argument("environment"))
  }

  /// The registration in a body.
  ///
  /// - Parameter now: milliseconds since the epoch, the default time of a registration.
  private static func registration(
    _ token: String, _ request: APIRequest, now: Int64
  ) throws(Problem) -> DeviceRecord {
    let object = try Arguments.object(
      request, ["app", "environment", "registered_at"] + DeviceDetails.none.members.map(\.name),
      of: "a registration")
    func text(_ name: String) throws(Problem) -> String? {
      guard let value = object[name], !value.isNull else { return nil }
      guard let text = value.string else { throw .field(name, "is not a string") }
      return text
    }
    func detail(_ name: String) throws(Problem) -> String? {
      let text: String?
      do throws(DetailError) {
        text = try object.detail(name)
      } catch {
        throw .field(name, error.problem)
      }
      guard let text else { return nil }
      guard (1...DeviceDetails.longest).contains(text.utf8.count) else {
        throw .field(name, "has not 1 to \(DeviceDetails.longest) bytes")
      }
      return text
    }
    let device = try Arguments.device(token, app: text("app"), environment: text("environment"))
    let details = try DeviceDetails(named: detail)
    if let type = details.pushType, request.api.settings.pushTypes.find(type.utf8.span) == nil {
      throw .field("type", "is not a push type")
    }
    guard let given = object["registered_at"], !given.isNull else {
      return DeviceRecord(device: device, event: .registered(at: now), details: details)
    }
    guard let time = given.int(earliest...OutsideTime.last) else {
      throw .field("registered_at", "is not a time in milliseconds since 1970")
    }
    // A device's clock may be ahead. Its later registrations must still count as later.
    return DeviceRecord(device: device, event: .registered(at: min(time, now)), details: details)
  }

  /// A smaller number of milliseconds would be a time since 2001 in seconds.
  private static let earliest: Int64 = 100_000_000_000

  private static func page(_ request: APIRequest) throws(Problem) -> InvalidTokenPage {
    InvalidTokenPage(
      app: try Arguments.app(request.argument("app")), environment: try request.environment(),
      after: try place(since: request.argument("since"), cursor: request.argument("cursor")),
      limit: try request.limit(10_000, usual: 1_000))
  }

  private static func place(
    since: String?, cursor: String?
  ) throws(Problem) -> InvalidTokenPage.Cursor {
    var begin: Int64 = 0
    if let since {
      guard let time = Int64(since) else {
        throw .field("since", "is not a time in milliseconds since 1970")
      }
      // In seconds it would be a time in 1970: all of the app's tokens would be listed.
      if let problem = OutsideTime.problem(time) { throw .field("since", problem) }
      begin = time
    }
    // An empty token comes before all tokens recorded at this time.
    guard let cursor else { return .init(recordedAt: begin, token: "", environment: "") }
    // The cursor is after the start of the first page.
    let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let time = Int64(parts[0]),
      parts[2].utf8.allSatisfy({ HexDigit.value($0) < 16 }), Environment(String(parts[1])) != nil
    else { throw .field("cursor", "is not one of an earlier answer") }
    return .init(recordedAt: time, token: String(parts[2]), environment: String(parts[1]))
  }

  // MARK: Answers

  private static func answer(_ identity: DeviceKey, _ state: DeviceState) -> HTTPResponse {
    guard !state.isEmpty else {
      return Problem.notFound(
        "nothing is known of this token for \(identity.app), \(identity.environment)"
      ).response
    }
    return .ok(.object(object(identity, state)))
  }

  static func object(_ identity: DeviceKey, _ state: DeviceState) -> JSONObject {
    var object = JSONObject()
    object.append("token", .string(identity.token))
    object.append("app", .string(identity.app))
    object.append("environment", .string(identity.environment.description))
    object.append("state", .string((state.word ?? .removed).rawValue))
    switch state.presence {
    case .registered(let time): object.append("registered_at", .integer(time))
    case .removed(let time): object.append("removed_at", .integer(time))
    case nil: break
    }
    if state.isInvalid, let mark = state.mark {
      object.append("invalid_since", .integer(mark.since))
      object.append("reason", .string(mark.reason))
      object.append("recorded_at", .integer(mark.recordedAt))
    }
    object.append(state.details)
    object.append("history", .array(state.history.changes.map(entry)))
    return object
  }

  private static func entry(
    _ change: DeviceHistory.Change, _ time: Int64, _ reason: String
  ) -> JSONValue {
    var entry = JSONObject()
    entry.append("state", .string(change.rawValue))
    entry.append("at", .integer(time))
    if change == .invalid { entry.append("reason", .string(reason)) }
    return .object(entry)
  }

  private static func answer(_ tokens: [ListedToken], _ page: InvalidTokenPage) -> HTTPResponse {
    let list = tokens.map { token -> JSONValue in
      var entry = JSONObject()
      entry.append("token", .string(token.device.token))
      entry.append("environment", .string(token.device.environment.description))
      entry.append("invalid_since", .integer(token.since))
      entry.append("reason", .string(token.reason))
      entry.append("recorded_at", .integer(token.recordedAt))
      entry.append(token.details)
      return .object(entry)
    }
    var object = JSONObject()
    object.append("invalid_tokens", .array(list))
    object.append("has_more", .bool(tokens.count == page.limit))
    let place = tokens.last.map(InvalidTokenPage.Cursor.init) ?? page.after
    if !place.token.isEmpty { object.append("cursor", .string(place.text)) }
    return .ok(.object(object))
  }
}

extension InvalidTokenPage.Cursor {
  fileprivate init(_ token: ListedToken) {
    self.init(
      recordedAt: token.recordedAt, token: token.device.token,
      environment: token.device.environment.description)
  }

  /// The form in answers and in the next request.
  fileprivate var text: String { "\(recordedAt).\(environment).\(token)" }
}
