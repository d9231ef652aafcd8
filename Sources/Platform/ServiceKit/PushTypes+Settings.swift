// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Settings

extension CommonSettings {
  /// Push types that this release does not know; `PushTypes(_:)` reads them.
  public static let pushTypes = SettingKey<[String]>.list(
    "push-type", placeholder: "NAME=SUFFIX",
    "A push type that is not built in: the value of apns-push-type, and what follows the bundle id in its topic, as"
      + " weather=.push-type.weather. Repeat it for more. Ingest, senders and the HTTP API need the same ones."
  )
}

extension PushTypes {
  /// The built-in types and those of `--push-type`.
  public init(_ values: SettingValues) throws(SettingErrors) {
    do throws(Problem) {
      try self.init(values[CommonSettings.pushTypes])
    } catch {
      throw values.error(CommonSettings.pushTypes.name, error.text)
    }
  }
}
