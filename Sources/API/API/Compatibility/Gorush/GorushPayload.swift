// SPDX-License-Identifier: Apache-2.0
import Records

extension GorushNotification {
  /// The body for APNs, with the same members as gorush's.
  func payload() throws(CompatibilityError) -> JSONValue {
    var payload = data ?? JSONObject()
    guard payload["aps"] == nil else {
      throw CompatibilityError("data.aps", "cannot be given: it would replace the notification")
    }
    payload.append("aps", .object(try aps()))
    return JSONValue.object(payload).sortedByKey
  }

  private func aps() throws(CompatibilityError) -> JSONObject {
    var aps = JSONObject()
    if let alert = alertValue { aps.append("alert", alert) }
    // A negative number leaves the badge as it is.
    if let badge, badge >= 0 { aps.append("badge", .integer(badge)) }
    aps.appendText("category", category)
    if contentAvailable { aps.append("content-available", 1) }
    aps.appendText("interruption-level", interruptionLevel)
    if mutableContent { aps.append("mutable-content", 1) }
    if let sound = try soundValue() { aps.append("sound", sound) }
    aps.appendText("thread-id", threadID)
    aps.appendTexts("url-args", urlArguments)
    if let state = activity.contentState, !state.members.isEmpty {
      aps.append("content-state", .object(state))
    }
    aps.appendPositive("dismissal-date", activity.dismissalDate)
    aps.appendPositive("stale-date", activity.staleDate)
    aps.appendText("event", activity.event)
    aps.appendPositive("timestamp", activity.timestamp)
    aps.appendText("attributes-type", activity.attributesType)
    if let attributes = activity.attributes, !attributes.members.isEmpty {
      aps.append("attributes", .object(attributes))
    }
    if let score = activity.relevanceScore { aps.append("relevance-score", score) }
    return aps
  }

  /// A text if only a message is given; an object as soon as there is a title or a member of `alert`, and then
  /// `message` only counts beside a `title`.
  private var alertValue: JSONValue? {
    guard !title.isEmpty || alert.isGiven else { return message.isEmpty ? nil : .string(message) }
    var object = JSONObject()
    object.appendText("action", alert["action"])
    object.appendText("action-loc-key", alert["action-loc-key"])
    let body = title.isEmpty ? "" : message
    object.appendText("body", alert["body"].isEmpty ? body : alert["body"])
    object.appendText("launch-image", alert["launch-image"])
    object.appendTexts("loc-args", alert.locArguments)
    object.appendText("loc-key", alert["loc-key"])
    object.appendText("title", alert["title"].isEmpty ? title : alert["title"])
    object.appendText("subtitle", alert["subtitle"])
    object.appendTexts("title-loc-args", alert.titleLocArguments)
    object.appendText("title-loc-key", alert["title-loc-key"])
    object.appendText("summary-arg", alert["summary-arg"])
    object.appendPositive("summary-arg-count", alert.summaryCount)
    return .object(object)
  }

  /// `name` or `volume` makes a critical alert of its own, whatever `sound` is.
  private func soundValue() throws(CompatibilityError) -> JSONValue? {
    let isLoud = (soundVolume?.anyNumber ?? 0) > 0
    if !soundName.isEmpty || isLoud {
      return [
        "critical": 1, "name": .string(soundName.isEmpty ? "default" : soundName),
        "volume": isLoud ? soundVolume ?? 1 : 1,
      ]
    }
    switch sound {
    case .object(let object):
      do throws(CompatibilityError) { return try criticalSound(GoObject(object)) } catch {
        throw error.within("sound")
      }
    case .string: return sound
    // gorush ignores anything else.
    default: return nil
    }
  }

  private func criticalSound(_ fields: GoObject) throws(CompatibilityError) -> JSONValue {
    var object = JSONObject()
    // gorush omits a 0, but APNs requires the member.
    object.append("critical", .integer(try fields.integer("critical") ?? 0))
    object.appendText("name", try fields.text("name"))
    if let volume = try fields.number("volume"), volume.anyNumber != 0 {
      object.append("volume", volume)
    }
    return .object(object)
  }
}
