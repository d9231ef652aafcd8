// SPDX-License-Identifier: Apache-2.0
import API
import Feedback
import GatewaySimulator
import Ingest
import LabCommand
import OperatorCommand
import Scheduler
import Sender
import ServiceKit
import Settings
import Signer
import WebhookDelivery

/// `docs/reference/configuration.md`, made from the settings that the programs declare.
enum ConfigurationPage {
  static let programs: [(name: String, table: SettingTable)] = [
    (IngestService.name, CommonSettings.table(of: IngestService.self)),
    (SignerService.name, CommonSettings.table(of: SignerService.self)),
    (SenderService.name, CommonSettings.table(of: SenderService.self)),
    (FeedbackService.name, CommonSettings.table(of: FeedbackService.self)),
    (APIService.name, CommonSettings.table(of: APIService.self)),
    (WebhookService.name, CommonSettings.table(of: WebhookService.self)),
    (SchedulerService.name, CommonSettings.table(of: SchedulerService.self)),
  ]

  static var text: String {
    let simulator = (name: SimulatorService.name, table: SettingTable(Self.simulator))
    let own = (programs + [simulator]).map { name, table in
      (name: name, settings: table.settings.filter { !isShared($0) })
    }
    let users = Dictionary(
      grouping: own.flatMap { program in
        program.settings.map { (row: row($0), name: program.name) }
      }, by: \.row
    ).mapValues { $0.map(\.name) }
    let several = own.flatMap(\.settings).map { row($0) }.filter { users[$0]!.count > 1 }
    var listed: Set<String> = []
    return head + section("All services", shared.map { row($0) })
      + section(
        "Several programs",
        several.filter { listed.insert($0).inserted }.map {
          "\($0.dropLast())Of \(users[$0]!.map { "`\($0)`" }.joined(separator: ", ")). |"
        })
      + own.map { program in
        section(
          "`\(program.name)`", program.settings.map { row($0) }.filter { users[$0]!.count == 1 })
      }.joined()
      + commands
  }

  /// The simulator's settings without those that switch a behaviour.
  private static var simulator: [Setting] {
    let behaviours = Set(SimulatorSettings.behaviours.map(\.name))
    return CommonSettings.table(of: SimulatorService.self).settings.filter {
      !behaviours.contains($0.name)
    }
  }

  private static var shared: [Setting] { programs[0].table.settings.filter(isShared) }

  private static func isShared(_ setting: Setting) -> Bool {
    programs.allSatisfy { program in
      program.table[setting.name].map { $0.documentation == setting.documentation } ?? false
    }
  }

  private static func section(_ title: String, _ rows: [String]) -> String {
    guard !rows.isEmpty else { return "" }
    return "\n## \(title)\n\n| setting | default | meaning |\n| --- | --- | --- |\n"
      + rows.map { "\($0)\n" }.joined()
  }

  private static func row(_ setting: Setting) -> String {
    let value = setting.defaultText.map { "`\($0)`" } ?? (setting.isRequired ? "required" : "–")
    return "| `--\(setting.name)` | \(value) | \(setting.documentation) |"
  }

  /// A row a command, with its settings and their defaults; `--help` has their meanings.
  private static var commands: String {
    "\n## Commands\n\n`martlet COMMAND --help` says what each setting means.\n\n"
      + "| command | settings |\n| --- | --- |\n"
      + (MartletCommand.commands + LabCommand.commands).map { command in
        let settings = CommonSettings.table(of: command).settings.filter { !isShared($0) }.map {
          let value = $0.kind == .boolean ? "" : $0.defaultText.map { " \($0)" } ?? ""
          return "`--\($0.name)\(value)`" + ($0.isRequired ? " (required)" : "")
        }
        return "| \(command.name) | \(settings.joined(separator: " ")) |\n"
      }.joined()
  }

  private static let head = """
    # Configuration

    Every program prints its settings with `--help`. `--check-config` checks them and the files that they name; `--check`
    also tries the keys, certificates, Kafka and gateways ([operations.md](../operations.md#is-the-deployment-right)). A
    value comes from a flag (`--drain-timeout 10s`), an environment variable (`MARTLET_DRAIN_TIMEOUT`), a properties file
    (`--config FILE` or `MARTLET_CONFIG`), or the default, in this order. An unknown flag or name in a file is refused; an
    unknown `MARTLET_` variable is ignored with a warning, so that one environment can serve all programs. Any librdkafka
    property can be set: `--kafka.security.protocol SASL_SSL`, `--kafka.consumer.<property>`,
    `--kafka.producer.<property>`. `apns-simulator --behaviours` prints the simulator's switches. The simulator and the
    `martlet` commands also take `--log-level`, `--log-format` and `--stop-timeout`, and commands that connect to Kafka
    take `--kafka` and `--topic-prefix`.

    `scripts/docs` writes this page from the programs' settings.

    """
}
