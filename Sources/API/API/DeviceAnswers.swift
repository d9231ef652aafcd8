// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import DeviceTokens
import HTTPServer
import JSON
import Records
import Store

/// The database's answers, as JSON.
enum DeviceAnswers {
  static func device(_ identity: DeviceKey, _ state: DeviceState) -> HTTPResponse {
    guard !state.isEmpty else {
      return Problem(
        status: 404, title: "Not found",
        detail: "nothing is known of this token for \(identity.app), \(identity.environment)"
      ).response
    }
    return ok(object(identity, state))
  }

  /// The most devices of a user in an answer.
  static let userLimit = 1_000

  /// The devices of a user.
  ///
  /// - Parameter found: with one more than `userLimit` if there are more.
  static func devices(_ found: [KnownDevice]) -> HTTPResponse {
    var answer = JSONObject()
    answer.append(
      "devices", .array(found.prefix(userLimit).map { .object(object($0.device, $0.state)) }))
    answer.append("has_more", .bool(found.count > userLimit))
    return ok(answer)
  }

  /// Kafka has it that so many devices are to be forgotten, and that so many entries of the schedule end or go on without
  /// them.
  static func forgotten(_ count: Int, scheduled: Int, hasMore: Bool) -> HTTPResponse {
    var answer = JSONObject()
    answer.append("status", 202)
    answer.append("devices", .integer(Int64(count)))
    answer.append("scheduled", .integer(Int64(scheduled)))
    answer.append("has_more", .bool(hasMore))
    return HTTPResponse(
      status: 202, contentType: "application/json", body: .bytes(JSONValue.object(answer).text))
  }

  private static func object(_ identity: DeviceKey, _ state: DeviceState) -> JSONObject {
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

  static func tokens(_ tokens: [ListedToken], _ page: InvalidTokenPage) -> HTTPResponse {
    var object = JSONObject()
    object.append(
      "invalid_tokens",
      .array(
        tokens.map { token in
          var entry = JSONObject()
          entry.append("token", .string(token.device.token))
          entry.append("environment", .string(token.device.environment.description))
          entry.append("invalid_since", .integer(token.since))
          entry.append("reason", .string(token.reason))
          entry.append("recorded_at", .integer(token.recordedAt))
          entry.append(token.details)
          return .object(entry)
        }))
    object.append("has_more", .bool(tokens.count == page.limit))
    let place = tokens.last.map(InvalidTokenPage.Cursor.init) ?? page.after
    if !place.token.isEmpty { object.append("cursor", .string(place.cursor)) }
    return ok(object)
  }

  private static func ok(_ object: JSONObject) -> HTTPResponse {
    HTTPResponse(
      status: 200, contentType: "application/json", body: .bytes(JSONValue.object(object).text))
  }
}
