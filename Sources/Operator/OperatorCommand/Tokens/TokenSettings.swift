// SPDX-License-Identifier: Apache-2.0
import APNS
import Settings

/// Settings that the commands about device tokens share.
enum TokenSettings {
  static let database = SettingKey<String>.path(
    "database", use: .database,
    "The database of device tokens that martlet-feedback keeps: a SQLite file, or a postgresql:// URL. It is only"
      + " read.")

  static let environment = SettingKey<String?>.choice(
    "environment", of: ["production", "sandbox"], "Only this environment.")

  static let app = SettingKey<String?>.text("app", placeholder: "APP", "Only this app.")
}
