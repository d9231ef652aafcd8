// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet tokens show TOKEN`: shows what is known about a device token, and its history.
enum TokensShowCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var token = ""
    fileprivate var selection = TokenSelection()
    @Declared(CommandSettings.isJSON) var isJSON: Bool

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      do throws(DeviceToken.Problem) {
        token = try DeviceToken.normalized(values.operands[0])
      } catch {
        throw SettingErrors(nil, "the TOKEN \(error)")
      }
    }
  }

  static let name = "tokens show"
  static let summary =
    "Shows a device token: whether it is registered, removed or invalid, since when and why, and its history."
  static let table = SettingTable(
    declaredBy: Settings.self, operands: .init("TOKEN", 1...1, "A device token, hex digits."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let devices = try settings.selection.whileComplete { reader throws(StoreError) in
      try reader.devices(token: settings.token)
    }
    let shown = devices.filter { settings.selection.takes($0.device.app, $0.device.environment) }
    guard !shown.isEmpty else { throw ServiceFailure("nothing is known of this token") }
    for known in shown {
      guard settings.isJSON else {
        for line in TokenText.lines(known) { StandardOutput.line(TerminalText.plain(line)) }
        continue
      }
      StandardOutput.line(known.shown.line)
    }
  }
}

enum TokenText {
  private static func line(_ name: String, _ text: String) -> String {
    "  " + name + String(repeating: " ", count: max(1, 13 - name.count)) + text
  }

  static func lines(_ known: KnownDevice) -> [String] {
    var lines = [
      known.device.token, line("app", "\(known.device.app), \(known.device.environment)"),
      line("state", state(known.state)),
    ]
    switch known.state.presence {
    case .registered(let time): lines.append(line("registered", moment(time)))
    case .removed(let time): lines.append(line("removed", moment(time)))
    case nil: break
    }
    for (name, value) in known.state.details.members {
      if let value { lines.append(line(name, value)) }
    }
    for (index, change) in known.state.history.changes.enumerated() {
      let reason = change.change == .invalid && !change.reason.isEmpty ? " (\(change.reason))" : ""
      lines.append(
        line(index == 0 ? "history" : "", "\(moment(change.at)) \(change.change)\(reason)"))
    }
    return lines
  }

  static func state(_ state: DeviceState) -> String {
    guard state.isInvalid, let mark = state.mark else { return state.word?.rawValue ?? "unknown" }
    let reason = mark.reason.isEmpty ? "" : " (\(mark.reason))"
    return
      "invalid since \(moment(mark.since))\(reason), as APNs said at \(moment(mark.recordedAt))"
  }

  static func moment(_ time: Int64) -> String { Timestamp.text(milliseconds: time) }
}
