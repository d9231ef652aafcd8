// SPDX-License-Identifier: Apache-2.0
import APNS
import CommandKit
import Contract
import DeviceTokens
import EventLoop
import Glibc
import Identity
import JSON
public import ServiceKit
public import Settings
import Store
import Telemetry

/// `martlet tokens list`: device tokens of the database, one in each line.
public enum TokensListCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(TokenSettings.database) var database: String
    @Declared(TokenSettings.app) fileprivate var app: String?
    @Declared(TokenSettings.environment) fileprivate var environment: String?

    @Declared(
      .choice("state", of: ["registered", "removed", "invalid"], "Only tokens in this state."))
    fileprivate var state: String?

    @Declared(.text("user", "Only devices of this user, as registrations name it."))
    var user: String?

    @Declared(.integer("limit", default: 100, "At most this many; 0 means all.")) var limit: Int

    @Declared(.boolean("count", "Print only how many tokens of the database are in each state."))
    var isCount: Bool

    var filter: DeviceFilter {
      DeviceFilter(
        app: app, environment: environment.flatMap { Environment($0) },
        word: state.flatMap { DeviceState.Word(rawValue: $0) })
    }

    public init() {}
  }

  public static let name = "tokens list"
  public static let summary =
    "Lists device tokens of the database with app, environment and state, in the order of the tokens; with --user those of"
    + " a user, by app and age, with what they are for and how long ago they were registered."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do throws(StoreError) {
      let reader = try TokenStoreReader(settings.database)
      if settings.isCount {
        return show(try reader.whileComplete { () throws(StoreError) in try reader.deviceCounts() })
      }
      var count = 0
      let show = { (known: KnownDevice) in
        if settings.limit > 0, count == settings.limit {
          StandardError.line("… more than \(settings.limit); --limit 0 shows all")
          return false
        }
        count += 1
        let sign =
          settings.user == nil ? "" : signOfLife(known.state, now: WallClock.milliseconds())
        return StandardOutput.line(TerminalText.plain(line(known) + sign))
          && !context.signals.isStopping
      }
      try reader.whileComplete { () throws(StoreError) in
        if let user = settings.user {
          let found = try reader.devices(ofUser: user.exact)
          _ = found.first { settings.filter.takes($0) && !show($0) }
        } else {
          try reader.forEachDevice(settings.filter, show)
        }
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
    if context.signals.isStopping { throw context.signals.interrupted("not all was listed") }
  }

  private static func line(_ known: KnownDevice) -> String {
    "\(known.device.token)  \(known.device.app)  \(known.device.environment)"
      + "  \(TokenText.state(known.state))"
  }

  /// What a user's token is for, and how long ago it was registered: the last sign of life of it.
  static func signOfLife(_ state: DeviceState, now: Int64) -> String {
    let details = state.details
    let uses = [details.pushType, details.activity, details.model].compactMap(\.self)
    let age = state.registeredAt.map { time in
      "registered \(StatusText.duration(Double(max(0, now - time)) / 1_000)) ago"
    }
    return (uses + [age].compactMap(\.self)).map { "  \($0)" }.joined()
  }

  private static func show(_ counts: DeviceCounts) {
    for word in DeviceState.Word.allCases {
      StandardOutput.line("\(word.rawValue) \(counts[word])")
    }
  }
}

/// `martlet tokens export`: all of it, for `martlet tokens import` and for other programs.
public enum TokensExportCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(TokenSettings.database) var database: String
    @Declared(TokenSettings.app) fileprivate var app: String?
    @Declared(TokenSettings.environment) fileprivate var environment: String?

    @Declared(
      .choice("state", of: ["registered", "removed", "invalid"], "Only tokens in this state."))
    fileprivate var state: String?

    @Declared(.boolean("progress", default: true, "Show progress on standard error."))
    var showsProgress: Bool

    var filter: DeviceFilter {
      DeviceFilter(
        app: app, environment: environment.flatMap { Environment($0) },
        word: state.flatMap { DeviceState.Word(rawValue: $0) })
    }

    public init() {}
  }

  public static let name = "tokens export"
  public static let summary =
    "Writes the device tokens of the database to standard output, one JSON object in each line, which martlet tokens"
    + " import reads. The database may be in use."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    var progress =
      settings.showsProgress && isatty(STDOUT_FILENO) == 0
      ? ProgressLine("tokens export", unit: "tokens") : nil
    var count = 0
    do throws(StoreError) {
      let reader = try TokenStoreReader(settings.database)
      try reader.whileComplete { () throws(StoreError) in
        try reader.forEachDevice(settings.filter) { known in
          count += 1
          if count % 256 == 0 { progress?.update(count: count, fraction: nil) }
          let line = String(decoding: JSONValue.object(known.exported).text, as: UTF8.self)
          return StandardOutput.line(line) && !context.signals.isStopping
        }
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
    progress?.end()
    if context.signals.isStopping { throw context.signals.interrupted("not all was exported") }
  }
}
