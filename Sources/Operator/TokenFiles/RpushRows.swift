// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract

/// The rows of an rpush database that are about tokens: its feedback, which has tokens that APNs called invalid, and the
/// application's own table of devices. `rpush_apps`, if it comes first, says which app an `app_id` is.
struct RpushRows: Sendable {
  private struct App: Sendable {
    let bundle: String?
    let environment: Environment?
  }

  /// Apps that are remembered, at most.
  private static let mostApps = 10_000

  private let devices: String?
  private var apps: [String: App] = [:]

  /// - Parameter devices: the table of devices; nil: those whose name says so.
  init(devices: String?) { self.devices = devices?.lowercased() }

  private static func isFeedback(_ table: String) -> Bool {
    table == "rpush_feedback" || table == "rapns_feedback"
  }

  private static func isApps(_ table: String) -> Bool {
    table == "rpush_apps" || table == "rapns_apps"
  }

  func isWanted(_ table: String) -> Bool {
    if Self.isFeedback(table) || Self.isApps(table) { return true }
    if let devices { return table == devices }
    return table.contains("device") && !table.hasPrefix("rpush_") && !table.hasPrefix("rapns_")
  }

  /// The token that a row is about; nil if it is not about a token.
  mutating func item(_ row: SQLDump.Row) -> ImportedItem? {
    func value(_ names: String...) -> String? {
      for name in names {
        guard let place = row.columns.firstIndex(of: name), let value = row.values[place],
          !value.isEmpty
        else { continue }
        return value
      }
      return nil
    }
    if Self.isApps(row.table) {
      note(value("id"), value("bundle_id"), value("environment"))
      return nil
    }
    if let type = value("platform", "device_type", "os", "type"), Self.isForeign(type) {
      return .skipped("not a device of Apple's")
    }
    guard let text = value("device_token", "token", "push_token", "apns_token") else {
      return .skipped("without a token")
    }
    var token = ImportedToken(token: text)
    let app = value("app_id").flatMap { apps[$0] }
    token.app = value("bundle_id", "app_identifier") ?? app?.bundle
    token.environment =
      value("environment").flatMap { Self.environment($0) } ?? app?.environment
    if Self.isFeedback(row.table) { return invalidation(token, value("failed_at")) }
    for name in ["last_registered_at", "last_seen_at", "updated_at", "created_at"]
    where token.registeredAt == nil {
      guard let text = value(name) else { continue }
      guard let time = ImportedTime.milliseconds(text) else {
        return .problem(field: name, "is not a time")
      }
      token.registeredAt = time
    }
    token.details.user = value("user_id", "user")
    token.details.locale = value("locale", "language")
    token.details.appVersion = value("app_version")
    return .token(token)
  }

  private func invalidation(_ token: ImportedToken, _ failedAt: String?) -> ImportedItem {
    guard let time = failedAt.flatMap(ImportedTime.milliseconds) else {
      return .problem(field: "failed_at", failedAt == nil ? "is required" : "is not a time")
    }
    var token = token
    token.invalidation = .init(since: time, aliveFrom: nil, reason: "Unregistered", recordedAt: nil)
    return .token(token)
  }

  private mutating func note(_ id: String?, _ bundle: String?, _ environment: String?) {
    guard let id, apps.count < Self.mostApps else { return }
    apps[id] = App(bundle: bundle, environment: environment.flatMap { Self.environment($0) })
  }

  private static func environment(_ text: String) -> Environment? {
    switch text.lowercased() {
    case "production": .production
    case "sandbox", "development": .sandbox
    default: nil
    }
  }

  private static func isForeign(_ type: String) -> Bool {
    let type = type.lowercased()
    return ["android", "gcm", "fcm", "firebase", "windows", "wns", "web", "adm", "huawei"]
      .contains { type.contains($0) }
  }
}
