// SPDX-License-Identifier: Apache-2.0

public import APNS

/// The devices that a campaign is for: the registered, valid ones of an app whose registrations have all of these details,
/// or those whose tokens are on a topic.
public struct Audience: Equatable, Sendable {
  public let app: String
  public let environment: Environment
  /// The type of its pushes, as `apns-push-type` spells it.
  public let type: String
  /// A language such as `de`, which `de_AT` and `de-CH` belong to, or such a locale; nil for any.
  public var locale: String?
  /// This version of the app or a later one.
  public var leastVersion: String?
  public var bundle: String?
  /// At least one of these words; empty for any.
  public var tagsAny: [String]
  /// Each of these words.
  public var tagsAll: [String]
  /// Milliseconds since the epoch.
  public var registeredSince: Int64?
  /// A topic of device tokens, in place of registrations; then there are no details.
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

  /// The most words of each list of tags.
  public static let mostTags = 20

  /// The types of registrations that are in it, as for `Recipients`.
  public var registrationTypes: [String?] { Recipients.registrationTypes(for: type) }

  /// True if a version of an app is `least` or a later one: numbers are compared one after the other, whatever stands
  /// between them, and one that is missing is 0.
  public static func isVersion(_ version: String, atLeast least: String) -> Bool {
    let (a, b) = (numbers(version), numbers(least))
    for index in 0..<max(a.count, b.count) {
      let (x, y) = (index < a.count ? a[index] : 0, index < b.count ? b[index] : 0)
      if x != y { return x > y }
    }
    return true
  }

  private static func numbers(_ version: String) -> [Int] {
    version.utf8.split { !(0x30...0x39).contains($0) }
      .map { Int(String(decoding: $0, as: UTF8.self)) ?? .max }
  }
}
