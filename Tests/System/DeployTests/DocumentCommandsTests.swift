// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import Glibc
import LabCommand
import OperatorCommand
import ServiceKit
import Settings
import TestSupport
import Testing

/// What the documents tell a reader to type exists: commands, settings, scripts.
@Suite struct DocumentCommandsTests {
  private static let documents = [
    "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "docs/README.md",
    "docs/producing.md", "docs/install.md", "docs/kafka.md", "docs/runbook.md", "docs/webhooks.md",
    "docs/scheduling.md", "docs/operations.md", "docs/reference/records.md", "docs/guarantees.md",
    "docs/dispatch.md", "docs/cost.md", "docs/simulator.md", "docs/migrating.md", "docs/api.md",
    "docs/tokens.md",
  ]

  /// Settings of every program, and of `martlet`'s commands by name.
  private static let commands: [String: Set<String>] = {
    var commands: [String: Set<String>] = [:]
    for command in MartletCommand.commands + LabCommand.commands {
      commands[command.name] = names(of: command)
    }
    return commands
  }()
  private static let names: Set<String> = {
    var names: Set<String> = Set(SettingTable.builtIn)
    let tables = ConfigurationPage.programs.map(\.table) + [SimulatorSettings.table]
    for table in tables { names.formUnion(table.settings.map(\.name)) }
    for command in commands.values { names.formUnion(command) }
    return names
  }()

  private static func names(of command: any Service.Type) -> Set<String> {
    Set(CommonSettings.table(of: command).settings.map(\.name))
  }

  /// Flags of scripts, benchmarks and other people's programs.
  private static let foreign: Set<String> = [
    "quick", "full", "short", "kills", "activities", "share", "postgres", "rate", "liveness",
    "seconds", "address", "cache", "pull",
    "thread", "show",
    "count", "rounds", "partitions", "apps", "credentials", "control", "restart-broker", "product",
    "filter", "skip-build", "explicit-target-dependency-import-check", "cacert", "cert", "key",
    "http2", "release", "deb", "output", "install-recommends", "create", "now", "rm",
    "read-only", "root", "build-arg", "boot", "pager",
    "cap-drop", "build", "from-file", "bootstrap-server", "command-config", "operation", "cluster",
    "minutes", "mutations", "seeds", "steps", "last", "at-once", "fail-with-body", "production",
    "group", "reference",
    "list", "peer", "broker-id", "describe", "entity-type", "all-topics", "topic", "reset-offsets",
    "to-datetime",
    "to-current", "export", "execute", "under-min-isr-partitions",
    "schema", "clean", "if-exists", "dbname", "inserts", "table", "remove-destination",
  ]

  @Test(arguments: documents)
  func `every command of martlet exists with its settings`(document: String) throws {
    let words = #/\bmartlet ((?:[a-z]+(?:-[a-z]+)* ?){1,2})([^`\n|]*)/#
    var isFenced = false
    for line in try Repository.text(document).split(separator: "\n") {
      if line.hasPrefix("```") { isFenced.toggle() }
      for part in isFenced ? Self.fenced(line) : Self.code(line) {
        for match in part.matches(of: words) {
          let typed = match.1.split(separator: " ").map(String.init)
          let known = Self.commands.keys.filter { name in
            let command = name.split(separator: " ").map(String.init)
            return typed.starts(with: command) || (typed.count == 1 && command.first == typed[0])
          }
          #expect(!known.isEmpty, "\(document): martlet \(match.1)")
          for flag in match.2.matches(of: #/--([a-z][a-z-]+)/#).map({ String($0.1) }) {
            let isKnown =
              flag == "config" || known.contains { Self.commands[$0]?.contains(flag) == true }
            #expect(isKnown, "\(document): martlet \(match.1) --\(flag)")
          }
        }
      }
    }
  }

  /// What a fenced line types, without the comment behind it.
  private static func fenced(_ line: Substring) -> [Substring] {
    guard line.hasPrefix("martlet ") else { return code(line) }
    return [line.firstRange(of: " #").map { line[..<$0.lowerBound] } ?? line]
  }

  /// The parts of a line that are code: all of an indented or fenced line, else what stands between backticks.
  private static func code(_ line: Substring) -> [Substring] {
    if line.hasPrefix(".build/") || line.hasPrefix("    ") || line.hasPrefix("CHANNEL=") {
      return [line]
    }
    return line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map(\.element)
  }

  @Test(arguments: documents)
  func `every setting that a document names exists`(document: String) throws {
    // `--` inside a word is Markdown or a file name.
    let found = try Repository.text(document).matches(
      of: #/(?:^|[\s`(\[=])--(no-)?([a-z][a-z0-9-]+)/#)
    for flag in found.map({ String($0.2) }) {
      #expect(Self.names.contains(flag) || Self.foreign.contains(flag), "\(document): --\(flag)")
    }
  }

  @Test(arguments: documents)
  func `every script and file of deploy that a document names exists`(document: String) throws {
    let paths =
      #/(?:^|[\s`(])((?:scripts|benchmarks|deploy|Sources|Tests)\/[A-Za-z0-9_.@+\/-]+[A-Za-z0-9])/#
    // Kept in the history only.
    let removed: Set<String> = ["benchmarks/queues"]
    for path in try Repository.text(document).matches(of: paths).map({ String($0.1) }) {
      let exists = access("\(Repository.root)/\(path)", F_OK) == 0
      #expect(exists || removed.contains(path), "\(document): \(path)")
    }
  }
}
