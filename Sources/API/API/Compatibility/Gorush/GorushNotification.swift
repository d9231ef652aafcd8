// SPDX-License-Identifier: Apache-2.0
public import Records

/// An entry of `notifications` in the body of gorush's `POST /api/push`, as far as iOS is concerned.
public struct GorushNotification: Sendable {
  /// The platform of a notification; only iOS is sent.
  public enum Platform: Int64, Sendable {
    case ios = 1
    case android = 2
    case huawei = 3

    /// The name in gorush's answers.
    public var name: String {
      switch self {
      case .ios: "ios"
      case .android: "android"
      case .huawei: "huawei"
      }
    }
  }

  /// nil for a number unknown to gorush.
  public let platform: Platform?
  public let tokens: [String]
  public let message: String
  /// `notif_id`, empty without one.
  public let id: String
  let title: String
  let priority: String
  let contentAvailable: Bool
  let mutableContent: Bool
  let sound: JSONValue?
  let soundName: String
  let soundVolume: JSONValue?
  let data: JSONObject?
  let expiration: Int64?
  let apnsID: String
  let collapseID: String
  let topic: String
  let pushType: String
  let badge: Int64?
  let category: String
  let threadID: String
  let urlArguments: [String]
  let alert: GorushAlert
  let production: Bool
  let development: Bool
  let interruptionLevel: String
  let activity: GorushActivity

  /// Reads an entry. A member of another type than in gorush is an error, as there.
  public init(_ value: JSONValue) throws(CompatibilityError) {
    let fields = value.isNull ? GoObject(JSONObject()) : try GoObject(value)
    platform = try fields.integer("platform").flatMap { Platform(rawValue: $0) }
    let recipient = try fields.text("to")
    tokens = try fields.texts("tokens") + (recipient.isEmpty ? [] : [recipient])
    message = try fields.text("message")
    id = try fields.text("notif_id")
    title = try fields.text("title")
    priority = try fields.text("priority")
    contentAvailable = try fields.flag("content_available")
    mutableContent = try fields.flag("mutable_content")
    sound = fields["sound"]
    soundName = try fields.text("name")
    soundVolume = try fields.number("volume")
    data = try fields.object("data")
    expiration = try fields.integer("expiration")
    apnsID = try fields.text("apns_id")
    collapseID = try fields.text("collapse_id")
    topic = try fields.text("topic")
    pushType = try fields.text("push_type")
    badge = try fields.integer("badge")
    category = try fields.text("category")
    threadID = try fields.text("thread-id")
    urlArguments = try fields.texts("url-args")
    alert = try GorushAlert(try fields.object("alert") ?? JSONObject())
    production = try fields.flag("production")
    development = try fields.flag("development")
    interruptionLevel = try fields.text("interruption_level")
    activity = try GorushActivity(fields)
  }

  public static func all(
    in body: JSONValue, limit: Int
  ) throws(CompatibilityError) -> [GorushNotification] {
    guard let list = try GoObject(body)["notifications"] else {
      throw CompatibilityError("", "Missing notifications field.")
    }
    guard let entries = list.array else {
      throw CompatibilityError("notifications", "is not an array")
    }
    guard !entries.isEmpty else { throw CompatibilityError("", "Notifications field is empty.") }
    guard entries.count <= limit else {
      throw CompatibilityError("", "Number of notifications(\(entries.count)) over limit(\(limit))")
    }
    var notifications: [GorushNotification] = []
    for (index, entry) in entries.enumerated() {
      do throws(CompatibilityError) {
        notifications.append(try GorushNotification(entry))
      } catch {
        throw error.within("notifications[\(index)]")
      }
    }
    return notifications
  }
}

/// `alert` of a notification: the texts that iOS shows.
struct GorushAlert: Sendable {
  private static let texts = [
    "action", "action-loc-key", "body", "launch-image", "loc-key", "title", "subtitle",
    "title-loc-key", "summary-arg",
  ]
  /// The given texts by name, which are also their names in the payload.
  private let texts: [String: String]
  let locArguments: [String]
  let titleLocArguments: [String]
  let summaryCount: Int64

  init(_ object: JSONObject) throws(CompatibilityError) {
    let fields = GoObject(object)
    var texts: [String: String] = [:]
    do throws(CompatibilityError) {
      for name in Self.texts { texts[name] = try fields.text(name) }
      locArguments = try fields.texts("loc-args")
      titleLocArguments = try fields.texts("title-loc-args")
      summaryCount = try fields.integer("summary-arg-count") ?? 0
    } catch {
      throw error.within("alert")
    }
    self.texts = texts
  }

  subscript(name: String) -> String { texts[name] ?? "" }

  /// True if any of them is given, so that iOS gets an object instead of a text.
  var isGiven: Bool {
    texts.values.contains { !$0.isEmpty } || !locArguments.isEmpty || !titleLocArguments.isEmpty
      || summaryCount > 0
  }
}

struct GorushActivity: Sendable {
  let contentState: JSONObject?
  let staleDate: Int64?
  let dismissalDate: Int64?
  let event: String
  let timestamp: Int64?
  let attributesType: String
  let attributes: JSONObject?
  let relevanceScore: JSONValue?

  init(_ fields: GoObject) throws(CompatibilityError) {
    contentState = try fields.object("content-state")
    staleDate = try fields.integer("stale-date")
    dismissalDate = try fields.integer("dismissal-date")
    event = try fields.text("event")
    timestamp = try fields.integer("timestamp")
    attributesType = try fields.text("attributes-type")
    attributes = try fields.object("attributes")
    relevanceScore = try fields.number("relevance-score")
  }
}
