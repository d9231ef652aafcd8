// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import Kafka
import LabCommand
import OperatorCommand
import Records
import ServiceKit
import Settings
import Testing

/// What containers are told is what the programs of the same version understand.
@Suite struct ManifestSettingsTests {
  /// The table of the program that the words name, and its arguments.
  private static func program(_ words: [String]) -> (table: SettingTable, arguments: [String])? {
    if let known = ConfigurationPage.programs.first(where: { $0.name == words.first }) {
      return (known.table, Array(words.dropFirst()))
    }
    if words.first == "apns-simulator" {
      return (CommonSettings.table(of: SimulatorService.self), Array(words.dropFirst()))
    }
    let rest = words.dropFirst()
    for command in MartletCommand.commands + LabCommand.commands where words.first == "martlet" {
      let name = command.name.split(separator: " ").map(String.init)
      if rest.starts(with: name) {
        return (CommonSettings.table(of: command), Array(rest.dropFirst(name.count)))
      }
    }
    return nil
  }

  private static func values(_ container: ManifestContainer) throws -> SettingValues {
    let (table, arguments) = try #require(program(container.words), "\(container.place)")
    let flags = try CommandLineFlags(arguments, for: table)
    var file: PropertiesFile?
    if let path = flags.configPath {
      let text = try #require(container.files[path], "\(container.place): \(path) is not mounted")
      file = try PropertiesFile(parsing: text, path: path)
    }
    return try table.read(
      flags, environment: container.environment, file: file,
      isKafkaProperty: KafkaConfiguration.hasProperty)
  }

  private func check(_ containers: [ManifestContainer]) throws {
    for container in containers {
      let values = try Self.values(container)
      #expect(values.warnings.isEmpty, "\(container.place)")
      for setting in values.table.settings {
        guard case .path = setting.kind, let path = values.written(setting.name) else { continue }
        // A database on a server.
        if path.hasPrefix("postgresql://") { continue }
        let isMounted = container.mounts.contains { path.hasPrefix("\($0)/") }
        #expect(isMounted, "\(container.place): \(setting.name) = \(path)")
      }
    }
  }

  @Test func `every command of compose.yaml is understood, and its files are mounted`() throws {
    let containers = try ManifestContainer.ofCompose()
    let programs = Set(containers.map(\.words[0]))
    let wanted = ConfigurationPage.programs.map(\.name) + ["apns-simulator", "martlet"]
    #expect(programs == Set(wanted))
    try check(containers)
  }

  @Test func `every command of deploy/kubernetes is understood, and its files are mounted`() throws
  {
    let containers = try ManifestContainer.ofKubernetes()
    #expect(!containers.isEmpty)
    try check(containers)
  }

  @Test func `a sender in Kubernetes has a loop per processor that it may use`() throws {
    let sender = try #require(
      try ManifestContainer.ofKubernetes().first { $0.words[0] == "martlet-sender" })
    let pod = try DeployedFiles.documents(in: "kubernetes/sender.yaml").first {
      $0.kind == "StatefulSet"
    }?.value["spec"]?["template"]?["spec"]?["containers"]?.array?.first
    let loops = try Self.values(sender).written("loops")
    #expect(pod?["resources"]?["limits"]?["cpu"]?.string == loops)
  }

  @Test func `pods have longer to stop than the processes take`() throws {
    let containers = try ManifestContainer.ofKubernetes()
    let seconds = try Self.values(containers[0])[CommonSettings.stopTimeout] / 1_000
    for document in try DeployedFiles.documents(in: "kubernetes/")
    where ["StatefulSet", "Deployment"].contains(document.kind) {
      let pod = document.value["spec"]?["template"]?["spec"]
      let pause = pod?["containers"]?.array?.first?["lifecycle"]?["preStop"]?["exec"]?["command"]?
        .array?.last?.string
      let grace = pod?["terminationGracePeriodSeconds"]?.int
      #expect(
        (grace ?? 0) > seconds + (pause.flatMap { Int64($0) } ?? 0), "\(document.path)")
    }
    let compose = try DeployedFiles.documents(in: "docker/compose.yaml").first?.value
    #expect(compose?["services"]?["sender"]?["stop_grace_period"]?.string == "\(seconds + 5)s")
  }
}
