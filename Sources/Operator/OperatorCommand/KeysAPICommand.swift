// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings

/// `martlet keys api NAME`: creates a key for the HTTP API.
enum KeysAPICommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var name = ""

    @Declared(.list("apps", default: "*", "Apps that the key may send for; * means all."))
    fileprivate var apps: [String]

    @Declared(
      .list(
        "read",
        "Apps whose device tokens and outcomes it may read; the same apps if this is absent."))
    fileprivate var readable: [String]

    @Declared(
      .integer(
        "rate", default: 0, in: 0...10_000_000,
        "Most requests per second at each martlet-api; 0 means no limit."))
    fileprivate var rate: Int

    @Declared(
      .bytes(
        "max-body", default: "0B", in: 0...1 << 30,
        "Largest body that is not NDJSON; 0B leaves it to martlet-api.")) fileprivate var maxBody:
      Int

    @Declared(
      .duration(
        "expires-in", default: "0s", in: 0...315_360_000_000,
        "How long the key is valid, such as 90d; 0s means without an end.")) fileprivate
      var expiresIn: Int64

    @Declared(
      .boolean(
        "paces",
        "The key may also see and change paces: of its apps, and with --apps '*' those of lanes and groups."
      )) fileprivate var paces: Bool

    @Declared(
      .boolean("campaigns", "The key may also start, see, pause and cancel campaigns of its apps."))
    fileprivate var campaigns: Bool

    @Declared(
      .path(
        "file", use: .output, placeholder: "FILE",
        "File of API keys to add the entry to, made if it does not exist; without it the entry is printed."
      )) var file: String?

    var entry: APIKeyEntry {
      APIKeyEntry(
        name: name, apps: apps, readable: readable.isEmpty ? nil : readable, rate: rate,
        maxBody: maxBody,
        expires: expiresIn > 0 ? WallClock.milliseconds() + expiresIn : nil, paces: paces,
        campaigns: campaigns)
    }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      name = values.operands[0]
      guard RequestRules.isText(name.utf8.span, most: 64) else {
        throw SettingErrors(
          nil, "the NAME is not 1 to 64 bytes without control characters or a blank at an end")
      }
      guard maxBody == 0 || maxBody >= APIKeyEntry.leastBody else {
        throw values.error("max-body", "must be 0B, or from 1KiB to 1GiB")
      }
      for (setting, apps) in [("apps", apps), ("read", readable)] {
        if let problem = AppClaims.patternProblem(in: apps) {
          throw SettingErrors(setting, problem)
        }
        // Of requests every app is checked, so the key would serve for none.
        for app in apps where app != "*" {
          guard (try? RequestRules.checkName(app.utf8.span, .app)) != nil else {
            throw SettingErrors(setting, "\"\(app)\" is not a bundle id; commas separate them")
          }
        }
      }
    }
  }

  static let name = "keys api"
  static let summary =
    "Makes a key for clients of martlet-api, prints it once, and adds its entry to the file of API keys. The file has"
    + " only its SHA-256."
  static let table = SettingTable(
    declaredBy: Settings.self,
    operands: .init("NAME", 1...1, "Whose key it is, for logs; at most 64 bytes, once in a file."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let key = APIKeyEntry.freshKey()
    let entry = settings.entry.json(of: key)
    guard let file = settings.file else {
      StandardError.line(String(decoding: entry.text, as: UTF8.self))
      return try show(key)
    }
    try APIKeyEntry.add(entry, named: settings.entry.name, to: file) { () throws(ServiceFailure) in
      try show(key)
    }
  }

  private static func show(_ key: String) throws(ServiceFailure) {
    guard StandardOutput.line(key) else {
      throw ServiceFailure("the key could not be printed; no entry was added to a file")
    }
  }
}
