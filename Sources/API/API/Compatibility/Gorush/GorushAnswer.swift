// SPDX-License-Identifier: Apache-2.0
public import Records

public enum GorushAnswer {
  /// - Parameters:
  ///   - count: the number of tokens for iOS.
  ///   - logs: an entry for each token that gets nothing.
  public static func accepted(count: Int, logs: [JSONValue]) -> JSONValue {
    ["counts": .integer(Int64(count)), "logs": .array(logs), "success": "ok"]
  }

  public static func refused(_ status: Int, _ message: String) -> JSONValue {
    ["code": .integer(Int64(status)), "message": .string(message)]
  }

  /// The entry of a token that gets nothing.
  public static func log(
    _ notification: GorushNotification, token: String, error: String
  ) -> JSONValue {
    var entry = JSONObject()
    if !notification.id.isEmpty { entry.append("notif_id", .string(notification.id)) }
    entry.append("type", "failed-push")
    entry.append("platform", .string(notification.platform?.name ?? ""))
    entry.append("token", .string(hidden(token)))
    entry.append("message", .string(notification.message))
    entry.append("error", .string(error))
    return .object(entry)
  }

  /// Replaces ten characters at each end by stars, gorush's default.
  private static func hidden(_ token: String) -> String {
    guard token.count >= 20 else { return String(repeating: "*", count: token.count) }
    let stars = String(repeating: "*", count: 10)
    return stars + token.dropFirst(10).dropLast(10) + stars
  }
}
