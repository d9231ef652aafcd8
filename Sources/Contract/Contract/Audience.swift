// SPDX-License-Identifier: Apache-2.0

/// The devices of a campaign: the registered, valid ones of an app whose registrations match all of these details, or
/// those whose tokens are on a topic.
public struct Audience: Equatable, Sendable {
  public let app: String
  public let environment: Environment
  /// The type of its pushes, as in `apns-push-type`.
  public let type: String
  /// A language such as `de`, which matches `de_AT` and `de-CH`, or a locale such as these; nil for any.
  public var locale: String?
  /// The earliest version of the app; nil for any.
  public var leastVersion: String?
  public var bundle: String?
  /// The device has at least one of these tags; empty for any.
  public var tagsAny: [String]
  /// The device has all of these tags.
  public var tagsAll: [String]
  /// The time since when devices registered, in milliseconds since the epoch.
  public var registeredSince: Int64?
  /// A topic of device tokens, instead of registrations; then there are no details.
  public var tokenTopic: String?

  public init(
    app: String, environment: Environment, type: String, locale: String? = nil,
    leastVersion: String? = nil, bundle: String? = nil, tagsAny: [String] = [],
    tagsAll: [String] = [], registeredSince: Int64? = nil, tokenTopic: String? = nil
  ) {
    (self.app, self.environment, self.type) = (app, environment, type)
    (self.locale, self.leastVersion, self.bundle) = (locale, leastVersion, bundle)
    (self.tagsAny, self.tagsAll, self.registeredSince) = (tagsAny, tagsAll, registeredSince)
    self.tokenTopic = tokenTopic
  }

  /// The most tags in each list.
  public static let mostTags = 20

  /// The types of registrations that it includes, as in `Recipients`.
  public var registrationTypes: [String?] { Recipients.registrationTypes(for: type) }

  /// All texts are the application's: audiences are the same only if their bytes are.
  public static func == (one: Audience, other: Audience) -> Bool {
    one.environment == other.environment && one.registeredSince == other.registeredSince
      && one.exactTexts == other.exactTexts
  }

  private var exactTexts: [[ExactText?]] {
    [
      [
        app.exact, type.exact, locale?.exact, leastVersion?.exact, bundle?.exact, tokenTopic?.exact,
      ],
      tagsAny.map { $0.exact }, tagsAll.map { $0.exact },
    ]
  }

  /// True if an app's version is `least` or later: their numbers are compared in order, whatever separates them, and a
  /// missing one is 0.
  public static func isVersion(_ version: String, atLeast least: String) -> Bool {
    let (a, b) = (numbers(version), numbers(least))
    for index in 0..<max(a.count, b.count) {
      let (x, y) = (index < a.count ? a[index] : 0, index < b.count ? b[index] : 0)
      if x != y { return x > y }
    }
    return true
  }

  /// True if versions can be compared with this one: every version is `isVersion(_:atLeast:)` of one without a number.
  public static func isComparable(_ version: String) -> Bool { !numbers(version).isEmpty }

  private static func numbers(_ version: String) -> [Int] {
    version.utf8.split { !(0x30...0x39).contains($0) }
      .map { Int(String(decoding: $0, as: UTF8.self)) ?? .max }
  }
}
