// SPDX-License-Identifier: Apache-2.0
import APNS
import Identity
import JSON
import Records
import Schedule
public import ServiceKit
public import Settings
import Store
import Telemetry

/// Settings that the commands about scheduled requests share.
enum ScheduleSettings {
  static let database = SettingKey<String>.path(
    "database", use: .database,
    "The database of martlet-scheduler: a SQLite file, or a postgresql:// URL. It is only read.")
}

/// `martlet schedule list`: the requests that wait for their time, the next one first.
public enum ScheduleListCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(ScheduleSettings.database) var database: String
    @Declared(TokenSettings.app) fileprivate var app: String?
    @Declared(
      .choice(
        "environment", of: ["production", "sandbox"], "Only this environment; needs --app."))
    fileprivate var environment: String?
    @Declared(.integer("limit", default: 100, "At most this many; 0 means all.")) var limit: Int
    @Declared(.boolean("count", "Print only how many requests wait.")) var isCount: Bool

    /// The beginning of the keys that are wanted.
    var prefix: String {
      guard let app else { return "" }
      return environment.map { "\(app):\($0):" } ?? "\(app):"
    }

    public init() {}
  }

  public static let name = "schedule list"
  public static let summary =
    "Lists the requests that wait for their send_at, the next one first: when, app, environment and id."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let settings = Settings.reading(values)
    guard settings.environment == nil || settings.app != nil else {
      throw SettingErrors("environment", "needs --app")
    }
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do throws(StoreError) {
      let reader = try TokenStoreReader(settings.database)
      if settings.isCount {
        let count = try reader.whileScheduleIsComplete { () throws(StoreError) in
          try reader.scheduledCount()
        }
        StandardOutput.line("\(count)")
        return
      }
      var count = 0
      try reader.whileScheduleIsComplete { () throws(StoreError) in
        try reader.forEachScheduled(withPrefix: settings.prefix) { entry in
          if settings.limit > 0, count == settings.limit {
            StandardError.line("… more than \(settings.limit); --limit 0 shows all")
            return false
          }
          count += 1
          return StandardOutput.line(TerminalText.plain(line(entry)))
            && !context.signals.isStopping
        }
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
    if context.signals.isStopping { throw context.signals.interrupted("not all was listed") }
  }

  private static func line(_ entry: ScheduledEntry) -> String {
    let key = ScheduleKey(entry.key)
    return Timestamp.text(milliseconds: entry.row.due)
      + "  \(key?.app ?? "")  \(key?.environment.description ?? "")  \(key?.id ?? entry.key)"
  }
}

/// `martlet schedule show ID`: one scheduled request.
public enum ScheduleShowCommand: Service {
  public struct Settings: Sendable {
    let database: String
    let key: ScheduleKey
  }

  public static let name = "schedule show"
  public static let summary =
    "Shows one request that waits for its send_at, as it was produced, or says that it was cancelled."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: ScheduleTarget.self, more: [ScheduleSettings.database.setting],
    operands: ScheduleTarget.operands)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      database: values[ScheduleSettings.database],
      key: try ScheduleTarget.reading(values).key(values))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let found: ScheduledEntry?
    do throws(StoreError) {
      let reader = try TokenStoreReader(settings.database)
      found = try reader.whileScheduleIsComplete { () throws(StoreError) in
        try reader.scheduled(key: settings.key.exact)
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
    guard let entry = found else {
      throw ServiceFailure(
        "no request with this id waits: it was sent, cancelled, or never scheduled")
    }
    var value = entry.value
    value.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      switch try? ScheduleRecord(bytes) {
      case .request:
        StandardOutput.line("due \(Timestamp.text(milliseconds: entry.row.due))")
        let json = ScheduleRecord.request(in: bytes)
        StandardOutput.line(TerminalText.plain(String(decoding: json, as: UTF8.self)))
      case .cancellation(let cancellation):
        let time = Timestamp.text(milliseconds: cancellation.at)
        StandardOutput.line(TerminalText.plain("cancelled \(time) by \(cancellation.by)"))
      // No request has such a key.
      case .activity, nil: StandardOutput.line("its record cannot be read")
      }
    }
  }
}

/// The request that a command names: its id, app and environment.
struct ScheduleTarget: DeclaredSettings, Sendable {
  static let operands = SettingTable.Operands("ID", 1...1, "The request's id.")

  @Declared(.text("app", placeholder: "APP", "The request's app.")) var app: String?
  @Declared(
    .choice(
      "environment", of: Environment.allCases.map(\.description), default: "production",
      "The request's environment.")) var environment: String

  func key(_ values: SettingValues) throws(SettingErrors) -> ScheduleKey {
    guard let app else { throw SettingErrors("app", "is required") }
    guard let key = ScheduleKey("\(app):\(environment):\(values.operands[0])".exact) else {
      throw SettingErrors("app", "\(app) is not a bundle id")
    }
    return key
  }
}
