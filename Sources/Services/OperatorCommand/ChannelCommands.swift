// SPDX-License-Identifier: Apache-2.0
package import ServiceKit
package import Settings

/// `martlet channels create`: a new broadcast channel.
package enum ChannelsCreateCommand: Service {
  package struct Settings: Sendable {
    let common: ChannelSettings
    let storesLast: Bool
  }

  package static let name = "channels create"
  package static let summary =
    "Makes a broadcast channel for an app's Live Activities and prints its id."
  package static let reportsCounters = false
  package static let table = ChannelSettings.table([
    .choice(
      "storage-policy", of: ["none", "last"], default: "none",
      "Whether APNs keeps the last broadcast, for up to 8 hours, for devices that were away: none"
        + " allows more broadcasts. It cannot be changed later.")
  ])

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      common: try ChannelSettings(values), storesLast: values.text("storage-policy") == "last")
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).create(storesLast: settings.storesLast)
  }
}

/// `martlet channels read`: what a channel is.
package enum ChannelsReadCommand: Service {
  package struct Settings: Sendable {
    let common: ChannelSettings
    let channel: String
  }

  package static let name = "channels read"
  package static let summary = "Prints the storage policy and push type of a broadcast channel."
  package static let reportsCounters = false
  package static let table = ChannelSettings.table([ChannelSettings.channel])

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      common: try ChannelSettings(values), channel: try ChannelSettings.channel(values))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).read(settings.channel)
  }
}

/// `martlet channels list`: the channels of an app.
package enum ChannelsListCommand: Service {
  package static let name = "channels list"
  package static let summary = "Prints the ids of an app's broadcast channels, one per line."
  package static let reportsCounters = false
  package static let table = ChannelSettings.table()

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> ChannelSettings {
    try ChannelSettings(values)
  }

  package static func run(
    _ settings: ChannelSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings, context).list()
  }
}

/// `martlet channels delete`: ends a channel for ever.
package enum ChannelsDeleteCommand: Service {
  package struct Settings: Sendable {
    let common: ChannelSettings
    let channel: String
    let isConfirmed: Bool
  }

  package static let name = "channels delete"
  package static let summary =
    "Deletes a broadcast channel. Its id is never used again; broadcasts that APNs has stored may"
    + " still arrive."
  package static let reportsCounters = false
  package static let table = ChannelSettings.table([
    ChannelSettings.channel, .boolean("yes", "Delete without asking."),
  ])

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      common: try ChannelSettings(values), channel: try ChannelSettings.channel(values),
      isConfirmed: values.boolean("yes"))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    if !settings.isConfirmed {
      try Confirmation.ask(
        "delete channel \(settings.channel) of \(settings.common.app) permanently")
    }
    try ChannelSession(settings.common, context).delete(settings.channel)
  }
}
