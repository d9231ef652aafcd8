// SPDX-License-Identifier: Apache-2.0
package import ServiceKit
package import Settings

/// `martlet channels create`: a new broadcast channel.
package enum ChannelsCreateCommand: Service {
  package struct Settings: DeclaredSettings, Sendable {
    @Declared(
      .choice(
        "storage-policy", of: ["none", "last"], default: "none",
        "Whether APNs stores the last broadcast, for up to 8 hours, for devices that were offline: none allows"
          + " more broadcasts. It cannot be changed later.")
    ) private var storagePolicy: String
    var common = ChannelSettings()

    var storesLast: Bool { storagePolicy == "last" }

    package init() {}
  }

  package static let name = "channels create"
  package static let summary =
    "Creates a broadcast channel for an app's Live Activities and prints its id."
  package static let reportsCounters = false
  package static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    return settings
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).create(storesLast: settings.storesLast)
  }
}

/// `martlet channels read`: what a channel is.
package enum ChannelsReadCommand: Service {
  package struct Settings: DeclaredSettings, Sendable {
    @Declared(ChannelSettings.channel) var channel: String
    var common = ChannelSettings()

    package init() {}
  }

  package static let name = "channels read"
  package static let summary = "Prints the storage policy and push type of a broadcast channel."
  package static let reportsCounters = false
  package static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    try ChannelSettings.checkChannel(values)
    return settings
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
  package static let table = SettingTable(
    declaredBy: ChannelSettings.self, kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> ChannelSettings {
    try ChannelSettings(values)
  }

  package static func run(
    _ settings: ChannelSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings, context).list()
  }
}

/// `martlet channels delete`: deletes a channel permanently.
package enum ChannelsDeleteCommand: Service {
  package struct Settings: DeclaredSettings, Sendable {
    @Declared(ChannelSettings.channel) var channel: String
    @Declared(.boolean("yes", "Delete without asking.")) var isConfirmed: Bool
    var common = ChannelSettings()

    package init() {}
  }

  package static let name = "channels delete"
  package static let summary =
    "Deletes a broadcast channel. Its id is never used again; broadcasts that APNs has stored may"
    + " still arrive."
  package static let reportsCounters = false
  package static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    try ChannelSettings.checkChannel(values)
    return settings
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
