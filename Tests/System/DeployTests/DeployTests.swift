// SPDX-License-Identifier: Apache-2.0
import API
import Contract
import EventLoop
import Feedback
import Ingest
import Scheduler
import Sender
import Settings
import Signer
import TestSupport
import Testing
import WebhookDelivery

@testable import OperatorCommand

/// The files in deploy/ are copied by operators: they must fit the programs of the same version.
@Suite struct DeployTests {
  private static let programs: [(name: String, table: SettingTable)] = [
    ("ingest", IngestSettings.table),
    ("signer", SignerSettings.table),
    ("sender", SenderSettings.table),
    ("feedback", FeedbackSettings.table),
  ]

  /// The canary and the HTTP API belong to no group, the webhooks to one for each endpoint.
  private static let all =
    programs + [
      ("canary", CanaryCommand.table), ("api", APISettings.table),
      ("webhooks", WebhookSettings.table), ("scheduler", SchedulerSettings.table),
    ]

  private func text(_ path: String) throws -> String { try DeployedFiles.text(path) }

  @Test func `every example properties file is accepted by its program`() throws {
    for (name, table) in Self.all {
      let path = "\(name).properties"
      let file = try PropertiesFile(parsing: try text(path), path: path)
      let flags = try CommandLineFlags([], for: table)
      #expect(throws: Never.self) { try table.read(flags, file: file) }
    }
  }

  @Test func `the units set only variables that their programs know`() throws {
    let units = [
      "martlet-ingest.service", "martlet-signer.service", "martlet-sender@.service",
      "martlet-feedback.service", "martlet-canary.service", "martlet-api.service",
      "martlet-webhooks.service", "martlet-scheduler.service",
    ]
    for (unit, program) in zip(units, Self.all) {
      let lines = try text("systemd/\(unit)").split(separator: "\n")
      // The last one is read by Swift's runtime.
      let known =
        program.table.settings.map(\.environmentName) + ["MARTLET_CONFIG", "SWIFT_BACKTRACE"]
      for line in lines where line.hasPrefix("Environment=") {
        let name = line.dropFirst("Environment=".count).prefix { $0 != "=" }
        #expect(known.contains(String(name)), "\(unit): \(name)")
      }
      #expect(
        lines.contains {
          $0.hasPrefix("ExecStart=") && $0.contains(#/martlet[- ]\b/#) && $0.hasSuffix(program.name)
        })
      #expect(lines.contains("NoNewPrivileges=yes"), "\(unit)")
    }
  }

  /// A dynamic user can read nothing of root's: secrets come by `LoadCredential=`, and each is used.
  @Test func `the programs read the secrets that their units load`() throws {
    let known = Dictionary(uniqueKeysWithValues: Self.programs)
    for (file, program) in [
      ("martlet-sender@.service", "sender"), ("martlet-signer.service", "signer"),
    ] {
      // Also what stands there to be uncommented.
      let lines = try text("systemd/\(file).d/secrets.conf").split(separator: "\n").map {
        $0.hasPrefix("#") ? $0.dropFirst() : $0
      }
      let loaded = lines.filter { $0.hasPrefix("LoadCredential=") }.map {
        $0.dropFirst("LoadCredential=".count).prefix { $0 != ":" }
      }
      #expect(loaded.contains("token-key"), "\(file)")
      for line in lines where line.hasPrefix("Environment=") {
        let pair = line.dropFirst("Environment=".count).split(separator: "=")
        #expect(known[program]?.settings.contains { $0.environmentName == pair[0] } == true)
        #expect(pair[1].hasPrefix("%d/"), "\(line)")
        #expect(loaded.contains(pair[1].dropFirst(3)), "\(line) is not loaded")
      }
      let unit = try text("systemd/\(file)")
      #expect(unit.contains("\(file).d/secrets.conf"), "the unit says where its secrets come from")
    }
  }

  /// A copy that is made at the start would let a removed key in until a restart.
  @Test func `the API's unit reads the file of keys itself`() throws {
    let lines = try text("systemd/martlet-api.service").split(separator: "\n")
    #expect(!lines.contains { $0.hasPrefix("LoadCredential=") || $0.contains("MARTLET_KEYS") })
    #expect(try text("api.properties").contains("\nkeys = /etc/martlet/api-keys.json\n"))
  }

  /// Of a unit's variable and a line of the settings the variable would win: `database` is the operator's to set.
  @Test func `example settings put each database into the folder that its unit makes`() throws {
    for (name, file) in [("feedback", "tokens"), ("scheduler", "schedule")] {
      let unit = try text("systemd/martlet-\(name).service")
      #expect(unit.contains("\nStateDirectory=martlet-\(name)\n"))
      #expect(!unit.contains("MARTLET_DATABASE"))
      let line = "\ndatabase = /var/lib/martlet-\(name)/\(file).sqlite\n"
      #expect(try text("\(name).properties").contains(line))
    }
  }

  @Test func `the list of topics is the one in the code`() throws {
    let listed = try text("topics.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
    let names = TopicNames()
    let defined = names.all.map { $0.row(without: names.prefix, width: 18) }
    #expect(listed.map(String.init) == defined)
  }

  @Test(arguments: [1, 2, 3, 5])
  func `topics.sh makes what martlet topics create makes`(copies: Int) throws {
    let folder = TemporaryFolder()
    // Kafka's tool, of which only the arguments matter.
    let (text, tool) = (folder.file("text"), folder.file("kafka-topics.sh"))
    try File.write(text, Array("#!/bin/sh\necho \"$@\"\n".utf8), mode: 0o700)
    // Written by another process: a child that another test starts meanwhile would have the file open for writing, and
    // what somebody writes cannot be run.
    #expect(try BuiltProgram.run("/bin/cp", [text, tool], in: folder).status == 0)
    let run = try BuiltProgram.run(
      "/usr/bin/env",
      [
        "BOOTSTRAP=k:1", "PREFIX=a.", "REPLICATION=\(copies)", "KAFKA_TOPICS=\(tool)", "bash",
        "\(DeployedFiles.folder)/topics.sh",
      ], in: folder)
    #expect(run.status == 0, "\(run.output)")
    let calls = run.output.split(separator: "\n").filter { $0.hasPrefix("--bootstrap-server") }
    let names = TopicNames(prefix: "a.")
    let replication = TopicReplication(asked: copies, brokers: 9)
    let wanted = names.all.map { topic in
      let configs = [("min.insync.replicas", "\(replication.inSync)")] + topic.settings
      return "--bootstrap-server k:1 --create --if-not-exists --topic \(topic.name)"
        + " --partitions \(topic.partitions) --replication-factor \(copies)"
        + configs.map { " --config \($0.0)=\($0.1)" }.joined()
    }
    #expect(calls.map(String.init) == wanted)
  }

  /// The value of a unit's `Name=value` line, where the name stands once.
  private func value(_ name: String, _ unit: String) throws -> String? {
    let lines = try text("systemd/\(unit)").split(separator: "\n")
    return lines.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
  }

  @Test
  func `every unit is a named member of its group and is back before its session ends`() throws {
    for unit in [
      "martlet-ingest.service", "martlet-signer.service", "martlet-sender@.service",
      "martlet-feedback.service",
    ] {
      let name = try #require(try value("Environment=MARTLET_INSTANCE_ID", unit), "\(unit)")
      #expect(name.hasPrefix("%H"), "\(unit): unique over the hosts, the same after a restart")
      #expect(name.hasSuffix("%i") == unit.contains("@"), "\(unit)")
      let pause = try #require(Int(try value("RestartSec", unit) ?? ""))
      // The signer's session, the shortest.
      #expect(pause * 1_000 * 2 <= 6_000, "\(unit)")
    }
  }
}
