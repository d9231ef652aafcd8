// SPDX-License-Identifier: Apache-2.0
public import ServiceKit
public import Settings

/// `martlet channels create`: a new broadcast channel.
public enum ChannelsCreateCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(
      .choice(
        "storage-policy", of: ["none", "last"], default: "none",
        "Whether APNs stores the last broadcast, for up to 8 hours, for devices that were offline: none allows"
          + " more broadcasts. It cannot be changed later.")
    ) private var storagePolicy: String
    var common = ChannelSettings()

    var storesLast: Bool { storagePolicy == "last" }

    public init() {}
  }

  public static let name = "channels create"
  public static let summary =
    "Creates a broadcast channel for an app's Live Activities and prints its id."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).create(storesLast: settings.storesLast)
  }
}

/// `martlet channels read`: what a channel is.
public enum ChannelsReadCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(ChannelSettings.channel) var channel: String
    var common = ChannelSettings()

    public init() {}
  }

  public static let name = "channels read"
  public static let summary = "Prints the storage policy and push type of a broadcast channel."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    try ChannelSettings.checkChannel(values)
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).read(settings.channel)
  }
}

/// `martlet channels list`: the channels of an app.
public enum ChannelsListCommand: Service {
  public static let name = "channels list"
  public static let summary = "Prints the ids of an app's broadcast channels, one per line."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: ChannelSettings.self, kafkaProperties: true)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> ChannelSettings {
    try ChannelSettings(values)
  }

  public static func run(
    _ settings: ChannelSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try ChannelSession(settings, context).list()
  }
}

/// `martlet channels delete`: deletes a channel permanently.
public enum ChannelsDeleteCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(ChannelSettings.channel) var channel: String
    @Declared(.boolean("yes", "Delete without asking.")) var isConfirmed: Bool
    var common = ChannelSettings()

    public init() {}
  }

  public static let name = "channels delete"
  public static let summary =
    "Deletes a broadcast channel. Its id is never used again; broadcasts that APNs has stored may"
    + " still arrive."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.common = try ChannelSettings(values)
    try ChannelSettings.checkChannel(values)
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    if !settings.isConfirmed {
      try Confirmation.ask(
        "delete channel \(settings.channel) of \(settings.common.app) permanently")
    }
    try ChannelSession(settings.common, context).delete(settings.channel)
  }
}
