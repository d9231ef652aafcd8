// SPDX-License-Identifier: Apache-2.0

/// The details of a registration besides the token. They belong to the application and only go into the database and
/// its answers; the newest registration replaces all of them.
public struct DeviceDetails: Sendable {
  /// The class of pushes that the token is for: an `apns-push-type`, such as `alert` or `voip`.
  public var pushType: String?
  /// The user of the device.
  public var user: String?
  /// A locale, such as `en_GB`.
  public var locale: String?
  public var appVersion: String?
  /// The bundle id on the device, if it differs from the app that pushes are sent for.
  public var bundle: String?
  /// A model, such as `iPhone17,1`.
  public var model: String?
  /// A time zone of the IANA database, such as `Europe/Zurich`.
  public var timeZone: String?
  /// The application's own words, separated by single blanks.
  public var tags: String?
  /// The activity updated by a token of type `liveactivity`; without one, the token starts activities.
  public var activity: String?

  public init(
    pushType: String? = nil, user: String? = nil, locale: String? = nil, appVersion: String? = nil,
    bundle: String? = nil, model: String? = nil, timeZone: String? = nil, tags: String? = nil,
    activity: String? = nil
  ) {
    self.pushType = pushType
    self.user = user
    self.locale = locale
    self.appVersion = appVersion
    self.bundle = bundle
    self.model = model
    self.timeZone = timeZone
    self.tags = tags
    self.activity = activity
  }

  public static let none = DeviceDetails()

  /// The most bytes of each detail.
  public static let longest = 256

  /// The name of the tags, which are a JSON array.
  public static let tagsName = "tags"

  /// The details by their names in records, requests and answers.
  public var members: [(name: String, value: String?)] {
    [
      ("type", pushType), ("user", user), ("locale", locale), ("app_version", appVersion),
      ("bundle", bundle), ("model", model), ("time_zone", timeZone), (Self.tagsName, tags),
      ("activity", activity),
    ]
  }

  /// Reads each detail by its name.
  public init<Failure: Error>(named value: (String) throws(Failure) -> String?) throws(Failure) {
    pushType = try value("type")
    user = try value("user")
    locale = try value("locale")
    appVersion = try value("app_version")
    bundle = try value("bundle")
    model = try value("model")
    timeZone = try value("time_zone")
    tags = try value(Self.tagsName)
    activity = try value("activity")
  }
}

/// All members are the application's texts: they are equal only if their bytes are.
extension DeviceDetails: Hashable {
  private var exactMembers: [ExactText?] { members.map { $0.value?.exact } }

  public static func == (one: DeviceDetails, other: DeviceDetails) -> Bool {
    one.exactMembers == other.exactMembers
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(exactMembers) }
}
