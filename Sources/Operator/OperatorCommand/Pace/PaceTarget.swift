// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Settings

/// The subject of `martlet pace`.
struct PaceTarget: Sendable {
  private let kind: PaceSubject.Kind
  private let name: String
  private let app: String?
  private let environment: Environment
  /// Whether the environment is not just the default.
  private let isEnvironmentGiven: Bool
  private let pushType: PushType

  /// - Parameter words: `app`, `lane`, `group` or `device`, and a name.
  init(
    _ words: ArraySlice<String>, _ settings: PaceCommand.Settings, _ values: SettingValues
  ) throws(SettingErrors) {
    let word = words.first ?? ""
    guard let kind = PaceSubject.Kind(rawValue: word),
      let environment = Environment(settings.environment),
      let type = PushType(settings.pushType.utf8.span)
    else { throw SettingErrors(nil, "\"\(word)\" has no pace: app, lane, group or device has") }
    guard words.count == 2, let name = words.last else {
      throw SettingErrors(nil, "name the \(kind.rawValue): martlet pace \(kind.rawValue) NAME")
    }
    guard settings.app == nil || kind == .group else {
      throw SettingErrors("app", "is for a group: \(kind.rawValue) NAME says it all")
    }
    // A pace of more than what was named would be set.
    guard kind != .lane || values.source(CommandSettings.oneEnvironment.name) != .flag else {
      throw SettingErrors("environment", "is not for a lane, whose pace is that of both")
    }
    guard kind == .device || values.source("push-type") != .flag else {
      throw SettingErrors(
        "push-type", "is for a device: the pace of \(kind.rawValue) NAME is that of all types")
    }
    isEnvironmentGiven = values.isGiven(CommandSettings.oneEnvironment.name)
    (self.kind, self.name, app) = (kind, name, settings.app)
    (self.environment, pushType) = (environment, type)
    // A group without an app gets a placeholder app, so that an invalid name is reported at once.
    _ = try Self.checked { () throws(PaceSubject.Problem) in
      try PaceSubject(kind, name, of: app ?? "app", environment, type)
    }
  }

  private static func checked<Value>(
    _ body: () throws(PaceSubject.Problem) -> Value
  ) throws(SettingErrors) -> Value {
    do throws(PaceSubject.Problem) { return try body() } catch {
      throw SettingErrors(nil, "\(error)")
    }
  }

  func check(_ rate: PaceRate) throws(SettingErrors) {
    try Self.checked { () throws(PaceSubject.Problem) in
      try PaceSubject(kind, name, of: app ?? "app", environment, pushType).check(rate)
    }
  }

  /// Returns the subject: a group without an app is the one of its name that has a pace, in the environment if that is
  /// given.
  func subject(among paces: [PaceSubject: PaceRate]) throws(ServiceFailure) -> PaceSubject {
    if kind == .group, app == nil {
      let meant = paces.keys.filter {
        $0.kind == .group && $0.name.exact == name.exact
          && (!isEnvironmentGiven || $0.environment == environment)
      }
      guard meant.count == 1 else {
        let list = meant.compactMap(\.app).sorted().joined(separator: ", ")
        throw ServiceFailure(
          "a group is of an app: name it with --app"
            + (meant.isEmpty ? "" : "; groups of this name with a pace are of \(list)"))
      }
      return meant[0]
    }
    return try orFail { try PaceSubject(kind, name, of: app, environment, pushType) }
  }
}
