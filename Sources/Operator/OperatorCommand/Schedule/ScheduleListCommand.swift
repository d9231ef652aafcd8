// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet schedule list`: lists the scheduled requests, the next one first; `martlet schedule list ID`: shows one as
/// it was produced.
enum ScheduleListCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(CommandSettings.schedule) var database: String
    @Declared(CommandSettings.app) fileprivate var app: String?
    @Declared(CommandSettings.environment) fileprivate var environment: String?
    @Declared(CommandSettings.limit) var limit: Int
    @Declared(.boolean("count", "Print only how many of them wait.")) var isCount: Bool
    /// The key of the request; nil for all.
    fileprivate(set) var key: ScheduleKey?

    /// The prefix of the selected keys.
    var prefix: String {
      guard let app else { return "" }
      return environment.map { "\(app):\($0):" } ?? "\(app):"
    }

    /// How many of the selected requests wait.
    func count(_ reader: TokenStoreReader) throws(StoreError) -> Int {
      guard app != nil else { return try reader.scheduledCount() }
      var count = 0
      try reader.forEachScheduled(withPrefix: prefix) { _ in
        count += 1
        return true
      }
      return count
    }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      guard environment == nil || app != nil else {
        throw SettingErrors("environment", "needs --app")
      }
      if let id = values.operands.first {
        key = try ScheduleKey(id, app: app, environment: environment ?? "production")
      }
    }
  }

  static let name = "schedule list"
  static let summary =
    "Lists the requests that wait for their send_at, the next one first: when, app, environment and id. With an ID, and"
    + " --app, it shows that request as it was produced, or says that it was cancelled."
  static let table = SettingTable(
    declaredBy: Settings.self, operands: .init("ID", 0...1, "The id of one request."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    do {
      let reader = try TokenStoreReader(settings.database)
      if let key = settings.key {
        let entry = try reader.whileScheduleIsComplete { () throws(StoreError) in
          try reader.scheduled(key: key.exact)
        }
        return try show(entry)
      }
      if settings.isCount {
        let count = try reader.whileScheduleIsComplete { () throws(StoreError) in
          try settings.count(reader)
        }
        StandardOutput.line("\(count)")
        return
      }
      try list(reader, settings, context)
    } catch {
      throw ServiceFailure(error)
    }
    if context.signals.isStopping { throw context.signals.interrupted("not all was listed") }
  }

  private static func list(
    _ reader: TokenStoreReader, _ settings: Settings, _ context: ServiceContext
  ) throws(StoreError) {
    var count = 0
    try reader.whileScheduleIsComplete { () throws(StoreError) in
      try reader.forEachScheduled(withPrefix: settings.prefix) { entry in
        if settings.limit > 0, count == settings.limit {
          StandardError.line("… more than \(settings.limit); --limit 0 shows all")
          return false
        }
        count += 1
        return StandardOutput.line(TerminalText.plain(line(entry))) && !context.signals.isStopping
      }
    }
  }

  private static func line(_ entry: ScheduledEntry) -> String {
    let key = ScheduleKey(entry.key)
    return Timestamp.text(milliseconds: entry.row.due)
      + "  \(key?.app ?? "")  \(key?.environment.description ?? "")  \(key?.id ?? entry.key)"
  }

  private static func show(_ entry: ScheduledEntry?) throws(ServiceFailure) {
    guard let entry else {
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
      // Requests do not have such keys.
      case .activity, nil: StandardOutput.line("its record cannot be read")
      }
    }
  }
}

extension ScheduleKey {
  /// Creates the key of the request that a command names.
  init(_ id: String, app: String?, environment: String) throws(SettingErrors) {
    guard let app else { throw SettingErrors("app", "is required: ids are of an app; give --app") }
    guard let key = ScheduleKey("\(app):\(environment):\(id)".exact) else {
      throw SettingErrors("app", "\(app) is not a bundle id")
    }
    self = key
  }
}
