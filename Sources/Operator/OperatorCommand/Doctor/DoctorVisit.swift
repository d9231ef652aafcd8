// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Settings

/// A program that the doctor runs with its own check.
struct DoctorVisit: Sendable {
  /// `ingest`, `sender`, …
  let program: String
  /// The executable, and the subcommand before the flags.
  var executable: String { program == "canary" ? "martlet" : "martlet-\(program)" }
  var command: [String] { program == "canary" ? ["canary"] : [] }
  /// The command line without flags.
  var name: String { ([executable] + command).joined(separator: " ") }
  /// The arguments; nil if the program is not checked, for the reason in the finding.
  let arguments: [String]?
  /// A remark in addition to the program's findings.
  let note: Finding?

  static let programs = ["ingest", "sender", "signer", "feedback"]
  /// Programs that a deployment may omit: they are checked if they have a settings file.
  static let optional = ["api", "webhooks", "scheduler", "canary"]

  /// Returns every program that can be checked.
  static func all(_ settings: DoctorCommand.Settings) -> [DoctorVisit] {
    let common = ["--check", "--log-format", "json", "--log-level", "error"] + settings.passed
    return (programs + optional).compactMap { program in
      let file = "\(settings.folder)/\(program).properties"
      if File.exists(file) { return visit(program, file, ["--config", file] + common) }
      if optional.contains(program) { return nil }
      let own = program == "signer" ? settings.credentials.map { ["--credentials", $0] } : []
      guard !settings.passed.isEmpty, let own else {
        return DoctorVisit(program: program, arguments: nil, note: unchecked(program, file))
      }
      return DoctorVisit(program: program, arguments: common + own + defaults(program), note: nil)
    }
  }

  /// Returns a program with its settings file. The package installs all of these files: an omitted program lacks its
  /// own files, and systemd creates the database's folder at the first start.
  private static func visit(
    _ program: String, _ file: String, _ arguments: [String]
  ) -> DoctorVisit {
    let settings = entries(file)
    if let name = ownFile[program], let path = settings[name], !File.exists(path) {
      return DoctorVisit(
        program: program, arguments: nil,
        note: .warning(
          .settings, path, "does not exist: martlet-\(program) is not set up and was not checked",
          remedy: "make it if the deployment has martlet-\(program); else remove \(file)"))
    }
    if ownersOfDatabases.contains(program), let path = settings["database"],
      isBeforeFirstStart(path)
    {
      return DoctorVisit(
        program: program, arguments: arguments + defaults(program),
        note: .warning(
          .settings, path,
          "its folder does not exist: martlet-\(program) was checked without its database",
          remedy: "nothing under systemd, which makes the folder at the first start; else make it"))
    }
    return DoctorVisit(program: program, arguments: arguments, note: nil)
  }

  /// The setting that names the file without which an optional program does nothing.
  private static let ownFile = ["api": "keys", "webhooks": "subscriptions"]
  /// The folder in which systemd creates units' folders (`StateDirectory=`).
  private static let stateFolder = "/var/lib/"

  /// Whether a database would be in a folder that systemd has not created yet.
  private static func isBeforeFirstStart(_ path: String) -> Bool {
    guard path.hasPrefix(stateFolder), let end = path.lastIndex(of: "/") else { return false }
    return !File.exists(String(path[..<end]))
  }

  /// The entries of a settings file; none if it cannot be read, which its program reports.
  private static func entries(_ file: String) -> [String: String] {
    guard let bytes = try? File.read(file), let text = String(validating: bytes, as: UTF8.self),
      let properties = try? PropertiesFile(parsing: text, path: file)
    else { return [:] }
    return Dictionary(
      properties.entries.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  private static let ownersOfDatabases = ["feedback", "scheduler"]

  /// The settings that a program requires without a settings file and that have no flag here. Nothing is written there.
  private static func defaults(_ program: String) -> [String] {
    guard ownersOfDatabases.contains(program) else { return [] }
    // In a container it may be the only folder that can be written.
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    return ["--database", "\(folder)/martlet-doctor-\(UInt64.random(in: .min ... .max)).sqlite"]
  }

  private static func unchecked(_ program: String, _ file: String) -> Finding {
    .warning(
      .settings, file, "does not exist: martlet-\(program) was not checked",
      remedy: program == "signer"
        ? "pass --settings FOLDER, or --kafka and --credentials"
        : "pass --settings FOLDER, or --kafka")
  }
}
