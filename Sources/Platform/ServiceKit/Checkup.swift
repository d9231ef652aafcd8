// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Settings
import Telemetry

/// `--check`: the settings, and what the service finds where they lead. Prints one finding per line (two with its
/// remedy), or with `--log-format json` one object per line.
enum Checkup {
  /// - Returns: 0 without an error, 1 with one, 2 if the settings are invalid.
  static func run<S: Service>(
    _ service: S.Type, program: String, _ flags: CommandLineFlags, _ table: SettingTable,
    _ commands: [any Service.Type]
  ) -> Int32 {
    let values: SettingValues
    let settings: S.Settings
    do throws(SettingErrors) {
      values = try ServiceRunner.read(flags, table, among: commands)
      settings = try S.settings(values)
      try KafkaConfiguration.checkTogether(values)
    } catch {
      show(findings(error, program), isJSON: flags.text(CommonSettings.logFormat.name) == "json")
      return ServiceRunner.misconfigured
    }
    // Nothing here listens for them.
    SignalSource.release(Housekeeper.signals)
    let isJSON = values[CommonSettings.logFormat] == LogFormat.json.rawValue
    let level = LogLevel(text: values[CommonSettings.logLevel]) ?? .info
    // What librdkafka complains about is among the findings.
    KafkaLog.show(from: .error, as: isJSON ? .json : .text)
    let log = Logger(
      service: program.replacingBlanks, level: max(level, .warning), format: isJSON ? .json : .text)
    let context = ServiceContext(name: program, log: log, values: values)
    let all = settingsFindings(values) + S.check(settings, context)
    show(all, isJSON: isJSON)
    return all.contains { $0.status == .error } ? ServiceRunner.failed : ServiceRunner.done
  }

  private static func show(_ findings: [Finding], isJSON: Bool) {
    for finding in findings {
      let text =
        isJSON
        ? FindingText.json(finding)
        : finding.text.split(separator: "\n").map { TerminalText.plain(String($0)) }
          .joined(separator: "\n")
      StandardOutput.line(text)
    }
  }

  private static func settingsFindings(_ values: SettingValues) -> [Finding] {
    let warnings = values.warnings.map {
      Finding.warning(
        .settings, $0.source?.description ?? "", $0.problem, remedy: "remove or correct it")
    }
    return warnings + shared(values)
  }

  /// That the settings are valid, and those that all programs of a pipeline must have in common.
  private static func shared(_ values: SettingValues) -> [Finding] {
    let valid = Finding.ok(.settings, "all", "are valid (--check-config shows them)")
    return [valid]
      + DoctorReport.shared.filter { values.table[$0] != nil }.map { name in
        return .ok(.settings, name, values.written(name) ?? "")
      }
  }

  private static func findings(_ errors: SettingErrors, _ program: String) -> [Finding] {
    errors.errors.map { error in
      let place = [error.setting, error.source.map { "(\($0))" }].compactMap { $0 }
      return .error(
        .settings, place.isEmpty ? program : place.joined(separator: " "), error.problem,
        remedy: "correct it; \(program) --help explains every setting")
    }
  }
}
