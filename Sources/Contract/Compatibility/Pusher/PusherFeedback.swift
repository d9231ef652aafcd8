// SPDX-License-Identifier: Apache-2.0
import APNS
public import JSON
public import Records

/// Writes answers of APNs as pusher's feedback topics (`push-GAME-apns-feedbacks`) have them.
public enum PusherFeedback {
  /// - Parameter game: pusher's name of the app.
  public static func value(_ feedback: FeedbackRecord, game: String) -> JSONValue {
    var metadata = JSONObject()
    metadata.append("game", .string(game))
    metadata.append("deviceToken", .string(feedback.device.token))
    if deletes(feedback.reason) { metadata.append("deleteToken", true) }
    return [
      "Sent": false, "StatusCode": .integer(Int64(feedback.status)),
      "Reason": .string(feedback.reason), "ApnsID": .string(feedback.apnsID),
      "Err": ["Key": .string(key(feedback.reason)), "Description": .string(feedback.reason)],
      "DeviceToken": .string(feedback.device.token),
      // Of the sending, in seconds.
      "timestamp": .integer(feedback.sentAt / 1_000), "metadata": .object(metadata),
    ]
  }

  /// True if pusher's listeners delete a token for this reason.
  private static func deletes(_ reason: String) -> Bool {
    ["BadDeviceToken", "Unregistered", "TopicDisallowed", "DeviceTokenNotForTopic"].contains(reason)
  }

  /// pusher's word for a reason: `BadDeviceToken` is `bad-device-token`.
  private static func key(_ reason: String) -> String {
    switch reason {
    case "BadMessageId": return "bad-message-id"
    case "BadDeviceToken", "Unregistered", "DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic",
      "MissingDeviceToken", "MissingTopic", "BadPriority", "BadExpirationDate":
      var word = ""
      for character in reason {
        if character.isUppercase, !word.isEmpty { word.append("-") }
        word += character.lowercased()
      }
      return word
    default: return "unexpected"
    }
  }
}
