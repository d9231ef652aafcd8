// SPDX-License-Identifier: Apache-2.0

/// Identifies a campaign: its name, its app and its environment. Another app may have a campaign of the same name.
///
/// It is the key of the campaign's records on `push.schedule`, of its controls on `push.controls`, and of its requests:
/// `campaign:<name>:<app>:<environment>`. Names and apps are ASCII, so equal texts are equal bytes.
public struct CampaignKey: Hashable, Sendable, CustomStringConvertible {
  public let name: String
  /// The bundle id.
  public let app: String
  public let environment: Environment

  /// The prefix of each key, and of the ids of a campaign's requests.
  public static let prefix = "campaign:"
  /// The most bytes of a name.
  public static let longestName = 64

  /// - Returns: nil for an invalid name or app.
  public init?(name: String, app: String, environment: Environment) {
    guard Self.isName(name), (try? RequestRules.checkName(app.utf8.span, .app)) != nil else {
      return nil
    }
    (self.name, self.app, self.environment) = (name, app, environment)
  }

  /// The campaign of a key; nil for other keys.
  public init?(_ key: String) {
    guard key.utf8.starts(with: Self.prefix.utf8) else { return nil }
    let parts = key.utf8.dropFirst(Self.prefix.utf8.count).split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 3, let environment = Environment(String(decoding: parts[2], as: UTF8.self))
    else { return nil }
    self.init(
      name: String(decoding: parts[0], as: UTF8.self),
      app: String(decoding: parts[1], as: UTF8.self), environment: environment)
  }

  /// True for a valid campaign name: 1 to 64 letters, digits, dots, hyphens and underscores. The name of an environment
  /// is invalid: the key would be that of a scheduled request of an app `campaign`.
  public static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count)
      && text.utf8.allSatisfy { RequestRules.isNameCharacter($0) } && Environment(text) == nil
  }

  /// The rule of `isName`, in words.
  public static let nameRule =
    "is not 1 to \(longestName) letters, digits, dots, hyphens, underscores, or is the name of an environment"

  public var description: String { "\(Self.prefix)\(name):\(app):\(environment)" }

  /// The id of each of its requests.
  public var requestID: String { Self.prefix + name }

  /// True if this campaign matches a name, and an app and environment if given.
  ///
  /// - Parameters:
  ///   - app: nil for any app.
  ///   - environment: nil for any environment.
  public func isOne(_ name: String, of app: String?, _ environment: Environment?) -> Bool {
    self.name == name && self.app == app ?? self.app
      && self.environment == environment ?? self.environment
  }

  /// The common prefix of the keys of all campaigns with a name.
  public static func prefix(ofName name: String) -> String { "\(prefix)\(name):" }
}
