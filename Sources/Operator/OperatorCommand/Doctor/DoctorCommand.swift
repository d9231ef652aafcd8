// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Settings
import Telemetry

/// `martlet doctor`: finds errors in a deployment before or while it runs.
enum DoctorCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(
      .text(
        "settings", default: "/etc/martlet", placeholder: "FOLDER",
        "Folder with the programs' settings files; a program without a file is checked with the flags below."
      )) var folder: String
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String

    /// For the signer only.
    @Declared(
      .path(
        "credentials", placeholder: "FILE", "The signer's credentials, if it has no settings file.")
    )
    var credentials: String?

    @Declared(CommandSettings.isJSON) var isJSON: Bool

    /// Flags passed to every program that has them.
    var passed: [String] = []

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      for name in [CommonSettings.kafka.name, CommonSettings.topicPrefix.name]
      where values.isGiven(name) {
        passed += ["--\(name)", values.written(name) ?? ""]
      }
      // The programs inherit what comes from the environment.
      for (name, property) in values.kafka.named where property.source == .flag {
        passed += ["--\(name)", property.value]
      }
    }
  }

  static let name = "doctor"
  static let summary =
    "Checks settings, keys, certificates, the clock, Kafka and the gateways as each program would meet them, and says"
    + " what to do about what is wrong: runs each installed program with --check and its file of the settings folder"
    + " (ingest.properties, sender.properties, signer.properties, feedback.properties, and if they are there"
    + " api.properties, webhooks.properties, scheduler.properties and canary.properties). Changes nothing. Exits with status 1 if there is an error."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let visits = DoctorVisit.all(settings)
    guard visits.contains(where: { $0.arguments != nil }) else {
      throw ServiceFailure(
        "there is no settings file in \(settings.folder): pass --settings FOLDER, or --kafka HOST:PORT"
      )
    }
    let results = DoctorRound.run(visits)
    // Ctrl-C ends the programs, too: what they have not found is no finding.
    if context.signals.isStopping {
      throw context.signals.interrupted("not everything was checked")
    }
    let report = DoctorReport(results)
    guard show(report, isJSON: settings.isJSON) else { return }
    let errors = report.count(.error)
    guard errors == 0 else {
      throw ServiceFailure("\(report.summary); the remedies are below the errors")
    }
  }

  /// Prints a report; returns false when the reader has gone (`| head`).
  private static func show(_ report: DoctorReport, isJSON: Bool) -> Bool {
    for entry in report.entries {
      let isRead =
        isJSON
        ? StandardOutput.line(FindingText.json(entry.finding, programs: entry.programs))
        : StandardOutput.line(text(entry))
      guard isRead else { return false }
    }
    return isJSON || StandardOutput.line(report.summary)
  }

  private static func text(_ entry: DoctorReport.Entry) -> String {
    var lines = entry.finding.text.split(separator: "\n").map { TerminalText.plain(String($0)) }
    lines[0] += " (\(entry.programs.joined(separator: ", ")))"
    return lines.joined(separator: "\n")
  }
}
