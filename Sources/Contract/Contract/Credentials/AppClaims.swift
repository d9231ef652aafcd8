// SPDX-License-Identifier: Apache-2.0

/// The apps claimed by the entries of a list of signing keys or client certificates. If two entries claimed one app in
/// one environment, the choice would be arbitrary, so the second is refused. `*` stands for the apps that no entry
/// names, and is claimed like an app.
public struct AppClaims: Sendable {
  /// Two entries claim the same app.
  public struct Overlap: Error, Equatable, Sendable, CustomStringConvertible {
    public let app: String
    public let environment: Environment
    /// The index of the entry that already claims it, from 0.
    public let other: Int

    public var description: String {
      "apps: \(app == "*" ? "every other app (\"*\")" : app) in \(environment) is claimed by entry"
        + " \(other + 1), too; name each app once, or give the entries different environments"
    }
  }

  private struct Key: Hashable, Sendable {
    let app: String
    let environment: UInt8
  }

  private var owners: [Key: Int] = [:]

  public init() {}

  /// Adds an entry's claims: all of them, or none if another entry has any.
  public mutating func claim(
    _ apps: [String], _ scope: ProviderTokenBook.Scope, by entry: Int
  ) throws(Overlap) {
    let environments = Environment.allCases.filter(scope.covers)
    for environment in environments {
      for app in apps {
        let owner = owners[Key(app: app, environment: environment.rawValue)] ?? entry
        if owner != entry { throw Overlap(app: app, environment: environment, other: owner) }
      }
    }
    for environment in environments {
      for app in apps { owners[Key(app: app, environment: environment.rawValue)] = entry }
    }
  }

  /// The fault in a list of apps; nil if each is a bundle id, or the only one is `*`.
  ///
  /// - Parameter allowsStar: whether a single `*` may stand for every app.
  public static func problem(in apps: [String], allowsStar: Bool) -> String? {
    if apps == ["*"], allowsStar { return nil }
    for (index, app) in apps.enumerated() {
      if app == "*" {
        return allowsStar
          ? "\"*\" means every app, so it must be the only entry" : "\"*\" is not a bundle id"
      }
      if app.contains("*") {
        return "\"\(app)\" is a pattern; list each bundle id"
          + (allowsStar ? ", or \"*\" alone for every app" : "")
      }
      let isPlain = app.utf8.allSatisfy(RequestRules.isNameCharacter)
      guard isPlain, (1...RequestRules.maximumName).contains(app.utf8.count) else {
        return "\"\(app)\" is not a bundle id"
      }
      if apps[..<index].contains(app) { return "\"\(app)\" is listed twice" }
    }
    return nil
  }

  /// The fault in apps of which one is a pattern, such as `com.example.*`, which would match none; nil without one. `*`
  /// stands for every app.
  public static func patternProblem(in apps: [String]) -> String? {
    apps.first { $0 != "*" && $0.utf8.contains(UInt8(ascii: "*")) }.map {
      "\"\($0)\" is a pattern; list each bundle id, or \"*\" for every app"
    }
  }
}
