// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

/// Checks that a body has the members that its push type needs, for `json-check` strict.
///
/// Sources: Apple, "Generating a remote notification", "Pushing background updates to your App",
/// "Starting and updating Live Activities…", "Updating widgets with WidgetKit push notifications",
/// "Publishing remote media sessions".
enum PayloadRules {
  static func fits(_ body: JSONValue, _ type: PushType) -> Bool {
    if type == .mdm { return body["mdm"]?.string != nil && body.object?.members.count == 1 }
    guard let aps = body["aps"] else { return hasFreeBody(type) }
    guard let fields = aps.object, fields.duplicateKey == nil else { return false }
    let isSeen = aps["alert"] != nil || aps["badge"] != nil || aps["sound"] != nil
    switch type {
    case .alert: return isSeen
    case .background: return aps["content-available"]?.int == 1 && !isSeen
    case .liveactivity: return isActivity(aps)
    case .widgets, .controls: return aps["content-changed"]?.bool == true
    case .nowplaying: return isMediaSession(aps)
    default: return true
    }
  }

  /// Whether the app defines the body of this type.
  private static func hasFreeBody(_ type: PushType) -> Bool {
    switch type {
    case .location, .voip, .complication, .fileprovider, .pushtotalk, .custom: true
    default: false
    }
  }

  private static func isActivity(_ aps: JSONValue) -> Bool {
    guard aps["timestamp"]?.anyNumber != nil, let event = aps["event"]?.string else { return false }
    switch event {
    case "update": return aps["content-state"]?.object != nil
    case "end": return true
    case "start":
      let names = ["content-state", "attributes", "alert"]
      return names.allSatisfy { aps[$0] != nil } && aps["attributes-type"]?.string != nil
        && !(aps["input-push-token"] != nil && aps["input-push-channel"] != nil)
    default: return false
    }
  }

  private static func isMediaSession(_ aps: JSONValue) -> Bool {
    guard aps["timestamp"]?.anyNumber != nil, let event = aps["event"]?.string,
      let id = aps["attributes"]?["id"]?.string
    else { return false }
    return ["start", "update", "end"].contains(event) && !id.isEmpty
  }

  /// Whether a body fits a broadcast, which can change or end an activity but not start one.
  static func fitsBroadcast(_ body: JSONValue) -> Bool {
    guard let aps = body["aps"], aps["event"]?.string != "start" else { return false }
    return isActivity(aps)
  }
}
