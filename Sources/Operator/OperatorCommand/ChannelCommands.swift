// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Settings

/// `martlet channels create`: creates a broadcast channel.
enum ChannelsCreateCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(
      .choice(
        "storage-policy", of: ["none", "last"], default: "none",
        "Whether APNs stores the last broadcast, for up to 8 hours, for devices that were offline: none allows"
          + " more broadcasts. It cannot be changed later.")
    ) private var storagePolicy: String
    var common = ChannelSettings()

    var storesLast: Bool { storagePolicy == "last" }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      common = try ChannelSettings(values)
    }
  }

  static let name = "channels create"
  static let summary =
    "Creates a broadcast channel for an app's Live Activities and prints its id."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try ChannelSession(settings.common, context).create(storesLast: settings.storesLast)
  }
}

/// `martlet channels list`: lists the channels of an app, or shows one of them.
enum ChannelsListCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(
      .text(
        "channel", placeholder: "ID",
        "Only this channel, by its id in base64, with its storage policy and push type."))
    fileprivate var channel: String?
    var common = ChannelSettings()

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      common = try ChannelSettings(values)
      if let channel { try ChannelSettings.check(channel: channel, values) }
    }
  }

  static let name = "channels list"
  static let summary =
    "Prints the ids of an app's broadcast channels, one per line; with --channel what that one is."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let session = ChannelSession(settings.common, context)
    if let channel = settings.channel { try session.read(channel) } else { try session.list() }
  }
}

/// `martlet channels delete`: deletes a channel permanently.
enum ChannelsDeleteCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(.text("channel", placeholder: "ID", "The channel's id, in base64."))
    fileprivate var channel: String
    @Declared(CommandSettings.isConfirmed) fileprivate var isConfirmed: Bool
    var common = ChannelSettings()

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      common = try ChannelSettings(values)
      try ChannelSettings.check(channel: channel, values)
    }
  }

  static let name = "channels delete"
  static let summary =
    "Deletes a broadcast channel. Its id is never used again; broadcasts that APNs has stored may"
    + " still arrive."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if !settings.isConfirmed {
      try Confirmation.ask(
        "delete channel \(settings.channel) of \(settings.common.app) permanently", context)
    }
    try ChannelSession(settings.common, context).delete(settings.channel)
  }
}
