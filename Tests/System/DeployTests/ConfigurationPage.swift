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
    head + section("All services", shared)
      + programs.map { program in
        section("`\(program.name)`", program.table.settings.filter { !isShared($0) })
      }.joined()
      + section("`\(SimulatorService.name)`", simulator)
      + (MartletCommand.commands + LabCommand.commands).map { command in
        section(
          "`martlet \(command.name)`",
          CommonSettings.table(of: command).settings.filter { !isShared($0) })
      }.joined()
  }

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

  private static func section(_ title: String, _ settings: [Setting]) -> String {
    guard !settings.isEmpty else { return "" }
    let rows = HelpText(program: "", summary: "", table: SettingTable(settings)).markdownRows
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
    `--kafka.consumer.<property>`, `--kafka.producer.<property>`. [simulator.md](../simulator.md) describes the simulator's
    behaviours. The simulator and the `martlet` commands also take `--log-level`, `--log-format` and `--stop-timeout`,
    and commands that connect to Kafka take `--kafka` and `--topic-prefix`. `--check` also tries the keys, certificates,
    Kafka and gateways that the settings name ([operations.md](../operations.md#is-the-deployment-right)).

    `MARTLET_WRITE_DOCS=1 swift test --filter ConfigurationPageTests` generates this page from the programs' settings;
    `scripts/test` fails if it is out of date.

    """
}
