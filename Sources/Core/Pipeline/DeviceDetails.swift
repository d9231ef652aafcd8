// SPDX-License-Identifier: Apache-2.0

/// What a registration says besides that the token is there. All of it is the application's own and goes nowhere
/// but into the database and its answers; the newest registration replaces all of it.
package struct DeviceDetails: Equatable, Hashable, Sendable {
  /// The class of pushes that the token is for: an `apns-push-type`, such as `alert` or `voip`.
  package var pushType: String?
  /// Whose device it is.
  package var user: String?
  /// Such as `en_GB`.
  package var locale: String?
  package var appVersion: String?
  /// The bundle that runs on the device, if it is not the app that pushes are sent for.
  package var bundle: String?

  package init(
    pushType: String? = nil, user: String? = nil, locale: String? = nil, appVersion: String? = nil,
    bundle: String? = nil
  ) {
    self.pushType = pushType
    self.user = user
    self.locale = locale
    self.appVersion = appVersion
    self.bundle = bundle
  }

  package static let none = DeviceDetails()

  /// The most bytes of each.
  package static let longest = 256

  /// Each with the name that it has in records, requests and answers.
  package var members: [(name: String, value: String?)] {
    [
      ("type", pushType), ("user", user), ("locale", locale), ("app_version", appVersion),
      ("bundle", bundle),
    ]
  }

  /// The same from a way to ask for each by its name.
  package init<Failure: Error>(
    named value: (String) throws(Failure) -> String?
  ) throws(Failure) {
    pushType = try value("type")
    user = try value("user")
    locale = try value("locale")
    appVersion = try value("app_version")
    bundle = try value("bundle")
  }
}
