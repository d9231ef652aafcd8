// SPDX-License-Identifier: Apache-2.0
import Bytes
import Diagnosis
import EventLoop

/// One program that the doctor has check itself.
struct DoctorVisit: Sendable {
  /// `ingest`, `sender`, …
  let program: String
  /// The executable, and the command of it that comes before the flags.
  var executable: String { program == "canary" ? "martlet" : "martlet-\(program)" }
  var command: [String] { program == "canary" ? ["canary"] : [] }
  /// As it is typed.
  var name: String { ([executable] + command).joined(separator: " ") }
  /// nil: it is not checked, for the reason of the finding.
  let arguments: [String]?
  /// What is said beside what the program says.
  let note: Finding?

  static let programs = ["ingest", "sender", "signer", "feedback"]
  /// A deployment may do without these: they are checked if they have a settings file.
  static let optional = ["api", "webhooks", "canary"]

  /// Every program, as far as there is something to check it with.
  static func all(_ settings: DoctorCommand.Settings) -> [DoctorVisit] {
    let common = ["--check", "--log-format", "json", "--log-level", "error"] + settings.passed
    return (programs + optional).compactMap { program in
      let file = "\(settings.folder)/\(program).properties"
      if File.exists(file) {
        return DoctorVisit(program: program, arguments: ["--config", file] + common, note: nil)
      }
      if optional.contains(program) { return nil }
      let own = program == "signer" ? settings.credentials.map { ["--credentials", $0] } : []
      guard !settings.passed.isEmpty, let own else {
        return DoctorVisit(program: program, arguments: nil, note: unchecked(program, file))
      }
      return DoctorVisit(
        program: program, arguments: common + own + defaults(program),
        note: nil)
    }
  }

  /// What a program needs that has no settings file and no flag here. Nothing is written there.
  private static func defaults(_ program: String) -> [String] {
    program == "feedback" ? ["--database", "/tmp/martlet-doctor-none.sqlite"] : []
  }

  private static func unchecked(_ program: String, _ file: String) -> Finding {
    .warning(
      .settings, file, "does not exist: martlet-\(program) was not checked",
      remedy: program == "signer"
        ? "pass --settings FOLDER, or --kafka and --credentials"
        : "pass --settings FOLDER, or --kafka")
  }
}
