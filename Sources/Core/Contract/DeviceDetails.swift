// SPDX-License-Identifier: Apache-2.0

/// The details of a registration besides the token. All of it is the application's own and goes nowhere but into the
/// database and its answers; the newest registration replaces all of it.
public struct DeviceDetails: Equatable, Hashable, Sendable {
  /// The class of pushes that the token is for: an `apns-push-type`, such as `alert` or `voip`.
  public var pushType: String?
  /// The user whose device it is.
  public var user: String?
  /// Such as `en_GB`.
  public var locale: String?
  public var appVersion: String?
  /// The bundle that runs on the device, if it is not the app that pushes are sent for.
  public var bundle: String?

  public init(
    pushType: String? = nil, user: String? = nil, locale: String? = nil, appVersion: String? = nil,
    bundle: String? = nil
  ) {
    self.pushType = pushType
    self.user = user
    self.locale = locale
    self.appVersion = appVersion
    self.bundle = bundle
  }

  public static let none = DeviceDetails()

  /// The most bytes of each.
  public static let longest = 256

  /// Each with the name that it has in records, requests and answers.
  public var members: [(name: String, value: String?)] {
    [
      ("type", pushType), ("user", user), ("locale", locale), ("app_version", appVersion),
      ("bundle", bundle),
    ]
  }

  /// The same from a way to ask for each by its name.
  public init<Failure: Error>(
    named value: (String) throws(Failure) -> String?
  ) throws(Failure) {
    pushType = try value("type")
    user = try value("user")
    locale = try value("locale")
    appVersion = try value("app_version")
    bundle = try value("bundle")
  }
}
