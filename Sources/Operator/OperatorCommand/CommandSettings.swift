// SPDX-License-Identifier: Apache-2.0
import Contract
import Settings

/// Settings that several commands share, so that each is declared and documented once.
enum CommandSettings {
  static let progress = SettingKey<Bool>.boolean(
    "progress", default: true, "Show progress on standard error.")

  static let isConfirmed = SettingKey<Bool>.boolean(
    "yes", "Do not ask before something that cannot be undone, or that is about much.")

  static let isDryRun = SettingKey<Bool>.boolean("dry-run", "Only report what would be done.")

  /// For commands that print one object.
  static let isJSON = SettingKey<Bool>.boolean(
    "json", "Print the result as JSON, for programs: one object in each line.")

  /// For commands that otherwise shorten device tokens.
  static let revealsTokens = SettingKey<Bool>.boolean("reveal", "Show device tokens in full.")

  static let limit = SettingKey<Int>.integer(
    "limit", default: 100, "At most this many; 0 means all.")

  static let app = SettingKey<String?>.text("app", placeholder: "APP", "Only this app.")

  /// The environment; nil for both.
  static let environment = SettingKey<String?>.choice(
    "environment", of: Environment.allCases.map(\.description), "Only this environment.")

  /// For commands that need exactly one environment.
  static let oneEnvironment = SettingKey<String>.choice(
    "environment", of: Environment.allCases.map(\.description), default: "production",
    "The environment that is meant.")

  static let reason = SettingKey<String?>.text("reason", "Why; the list of what was set shows it.")

  static let tokens = SettingKey<String>.path(
    "database", use: .database,
    "The database of device tokens that martlet-feedback keeps: a SQLite file, or a postgresql:// URL. It is only"
      + " read, but for the decisions of martlet tokens waves.")

  static let schedule = SettingKey<String>.path(
    "database", use: .database,
    "The database of martlet-scheduler: a SQLite file, or a postgresql:// URL. It is only read.")

  /// For commands that can also read the topic, more slowly.
  static let scheduleIfAny = SettingKey<String?>.path(
    "database", use: .database,
    "The database of martlet-scheduler: a SQLite file, or a postgresql:// URL. It is only read. Without it push.schedule"
      + " is read where something is looked up.")
}
