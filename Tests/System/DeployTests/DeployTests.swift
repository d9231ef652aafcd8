// SPDX-License-Identifier: Apache-2.0
import Bytes
import Feedback
import Ingest
import Pipeline
import Sender
import Settings
import Signer
import Testing

/// The files in deploy/ are copied by operators: they must fit the programs of the same version.
@Suite struct DeployTests {
  private static let folder =
    #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/deploy"

  private static let programs: [(name: String, table: SettingTable)] = [
    ("ingest", IngestSettings.table),
    ("signer", SignerSettings.table),
    ("sender", SenderSettings.table),
    ("feedback", FeedbackSettings.table),
  ]

  private func text(_ path: String) throws -> String {
    String(decoding: try File.read("\(Self.folder)/\(path)"), as: UTF8.self)
  }

  @Test func `every example properties file is accepted by its program`() throws {
    for (name, table) in Self.programs {
      let path = "\(name).properties"
      let file = try PropertiesFile(parsing: try text(path), path: path)
      let flags = try CommandLineFlags([], for: table)
      #expect(throws: Never.self) { try table.read(flags, file: file) }
    }
  }

  @Test func `the units set only variables that their programs know`() throws {
    let units = [
      "martlet-ingest.service", "martlet-signer.service", "martlet-sender@.service",
      "martlet-feedback.service",
    ]
    for (unit, program) in zip(units, Self.programs) {
      let lines = try text("systemd/\(unit)").split(separator: "\n")
      let known = program.table.settings.map(\.environmentName) + ["MARTLET_CONFIG"]
      for line in lines where line.hasPrefix("Environment=") {
        let name = line.dropFirst("Environment=".count).prefix { $0 != "=" }
        #expect(known.contains(String(name)), "\(unit): \(name)")
      }
      #expect(
        lines.contains { $0.hasPrefix("ExecStart=") && $0.contains("martlet-\(program.name)") })
      #expect(lines.contains("NoNewPrivileges=yes"), "\(unit)")
    }
  }

  @Test func `the list of topics is the one in the code`() throws {
    let rows = try text("topics.txt").split(separator: "\n").filter { !$0.hasPrefix("#") }
    let listed = rows.map { $0.split(separator: " ").prefix(3).map(String.init) }
    let names = TopicNames()
    let defined = names.all.map {
      [String($0.name.dropFirst(names.prefix.count)), "\($0.partitions)", $0.cleanup.rawValue]
    }
    #expect(listed == defined)
  }
}
