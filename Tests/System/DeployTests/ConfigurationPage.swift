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

/// `docs/configuration.md`, made from the settings that the programs declare.
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
    let rows = owners.filter { $0.value.count > 1 }.keys.sorted().map { row in
      "\(row) \((owners[row] ?? []).map { "`\($0)`" }.joined(separator: ", ")) |"
    }
    return head + section("All services", shared.map(\.row))
      + "\n## Several programs\n\n| setting | default | meaning | of |\n| --- | --- | --- | --- |\n"
      + rows.map { "\($0)\n" }.joined()
      + sections.map { name, rows in
        section("`\(name)`", rows.filter { owners[$0]?.count == 1 })
      }.joined()
  }

  /// The rows of every program and command.
  private static let sections: [(name: String, rows: [String])] =
    programs.map { ($0.name, $0.table.settings.filter { !isShared($0) }.map(\.row)) }
    + [(SimulatorService.name, simulator.map(\.row))]
    + (MartletCommand.commands + LabCommand.commands).map { command in
      (
        "martlet \(command.name)",
        CommonSettings.table(of: command).settings.filter { !isShared($0) }.map(\.row)
      )
    }

  /// The programs and commands that have a row, in the page's order.
  private static let owners = Dictionary(
    sections.flatMap { name, rows in rows.map { ($0, [name]) } }, uniquingKeysWith: +)

  /// The simulator's settings without those that switch a behaviour.
  private static var simulator: [Setting] {
    let behaviours = Set(SimulatorSettings.behaviours.map(\.name))
    return CommonSettings.table(of: SimulatorService.self).settings.filter {
      !isShared($0) && !behaviours.contains($0.name)
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

  private static let head = """
    # Configuration

    Every program prints its settings with `--help` and checks them with `--check-config`, which also checks the files
    and folders that they name. A value comes from a flag (`--drain-timeout 10s`), an environment variable
    (`MARTLET_DRAIN_TIMEOUT`), a properties file (`--config FILE` or `MARTLET_CONFIG`), or the default, in this order. An
    unknown flag or name in a file is refused; an unknown `MARTLET_` variable is ignored with a warning, so that one
    environment can serve all programs. Any librdkafka property can be set: `--kafka.security.protocol SASL_SSL`,
    `--kafka.consumer.<property>`, `--kafka.producer.<property>`. [simulator.md](simulator.md) describes the simulator's
    behaviours. The simulator and the `martlet` commands also take `--log-level`, `--log-format` and `--stop-timeout`,
    and commands that connect to Kafka take `--kafka` and `--topic-prefix`. What several programs have in common stands
    once, in the second table. `--check` also tries the keys, certificates,
    Kafka and gateways that the settings name ([operations.md](operations.md#is-the-deployment-right)).

    `MARTLET_WRITE_DOCS=1 swift test --filter ConfigurationPageTests` generates this page from the programs' settings;
    `scripts/test` fails if it is out of date.

    """
}

extension Setting {
  /// Its row in a table of the page.
  fileprivate var row: String {
    HelpText(program: "", summary: "", table: SettingTable([self])).markdownRows[0]
  }
}
