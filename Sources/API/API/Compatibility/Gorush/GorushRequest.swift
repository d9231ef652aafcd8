// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Records

/// Creates Martlet requests from gorush's notifications. What gorush configures in its file is set here.
public struct GorushTranslator: Sendable {
  public static let tokensPerRequest = 1_000

  /// The bundle id of notifications without a topic; gorush leaves that to its certificate.
  private let app: String?
  /// The environment of a notification with neither `production` nor `development`.
  private let environment: Environment
  private let types: PushTypes

  public init(app: String?, environment: Environment, types: PushTypes) {
    self.app = app
    self.environment = environment
    self.types = types
  }

  /// The requests of a notification for iOS: one per 1,000 of its tokens.
  public func requests(
    _ notification: GorushNotification
  ) throws(CompatibilityError) -> [JSONValue] {
    guard !notification.tokens.isEmpty else { throw CompatibilityError("tokens", "is required") }
    let payload = try notification.payload()
    let shared = try members(notification, payload)
    return stride(from: 0, to: notification.tokens.count, by: Self.tokensPerRequest).map { start in
      let end = min(start + Self.tokensPerRequest, notification.tokens.count)
      var request = shared
      request.append("tokens", .array(notification.tokens[start..<end].map { .string($0) }))
      request.append("payload", payload)
      return .object(request)
    }
  }

  private func members(
    _ notification: GorushNotification, _ payload: JSONValue
  ) throws(CompatibilityError) -> JSONObject {
    let isSilent = notification.pushType.isEmpty && isSilent(payload)
    let type =
      notification.pushType.isEmpty ? isSilent ? "background" : "alert" : notification.pushType
    let isAlone = notification.tokens.count == 1
    var request = JSONObject()
    // With several notifications, only one may have the apns-id, so it becomes their request id instead.
    let name = notification.id.isEmpty && !isAlone ? notification.apnsID : notification.id
    request.appendText("id", name)
    request.append("app", .string(try app(of: notification, type)))
    request.append(
      "environment",
      .string(
        notification.production
          ? "production" : notification.development ? "sandbox" : environment.description))
    request.append("type", .string(type))
    if isAlone { request.appendText("apns_id", notification.apnsID) }
    request.appendText("collapse_id", notification.collapseID)
    if let expiration = notification.expiration {
      request.append("expiration", .integer(expiration))
    }
    switch notification.priority {
    case "high" where !isSilent: request.append("priority", 10)
    case "normal": request.append("priority", 5)
    default: break
    }
    return request
  }

  /// Whether a push wakes the app and shows nothing: with gorush's type alert, APNs may drop it.
  private func isSilent(_ payload: JSONValue) -> Bool {
    guard let aps = payload["aps"] else { return false }
    return aps["content-available"] != nil && aps["alert"] == nil && aps["badge"] == nil
      && aps["sound"] == nil
  }

  /// The bundle id of the topic.
  private func app(
    of notification: GorushNotification, _ type: String
  ) throws(CompatibilityError) -> String {
    guard !notification.topic.isEmpty else {
      guard let app else {
        throw CompatibilityError(
          "topic", "is required (--gorush-app names the app of notifications without one)")
      }
      return app
    }
    guard let known = types.find(type.utf8.span) else {
      throw CompatibilityError("push_type", "is not one of \(types.names.joined(separator: ", "))")
    }
    let suffix = types.suffix(of: known) ?? ""
    guard known == .mdm || notification.topic.hasSuffix(suffix) else {
      throw CompatibilityError("topic", "does not end in \(suffix), as push_type \(type) asks for")
    }
    return String(notification.topic.dropLast(known == .mdm ? 0 : suffix.utf8.count))
  }
}
