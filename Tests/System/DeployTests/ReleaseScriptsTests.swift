// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import OperatorCommand
import ServiceKit
import Settings
import SystemTestSupport
import TestSupport
import Testing

/// The cheap part of what makes a release; scripts/test --full makes and installs one.
@Suite struct ReleaseScriptsTests {
  private func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String)
  {
    try BuiltProgram.run(path, arguments, in: TemporaryFolder(), withinMilliseconds: 60_000)
  }

  private func page(_ words: [String], section: Int) throws -> String {
    let program = ChildProcess.sibling(words[0])
    let rest = words.dropFirst().joined(separator: " ")
    let made = try run(
      "/bin/sh",
      [
        "-c",
        "'\(program)' \(rest) --help | '\(DeployedFiles.root)/scripts/man-page' '\(words.joined(separator: " "))' \(section)",
      ])
    #expect(made.status == 0)
    return made.output
  }

  @Test func `a program's manual page has every setting of its help`() throws {
    for (name, table) in ConfigurationPage.programs {
      let text = try page([name], section: 8)
      let title = ".TH \(name.uppercased()) 8"
      #expect(text.hasPrefix(title) && text.contains(".SH NAME\n\(name) \\- "), "\(name)")
      for setting in table.settings {
        let entry = ".TP\n.B \\-\\-\(setting.name.replacing("-", with: "\\-"))"
        #expect(text.contains(entry), "\(name): \(setting.name)")
      }
    }
  }

  @Test func `the page of martlet lists its commands, and each has one of its own`() throws {
    let text = try page(["martlet"], section: 1)
    for command in MartletCommand.commands + LabCommand.commands {
      #expect(text.contains(".TP\n.B \(command.name.replacing("-", with: "\\-"))\n"))
    }
    let create = try page(["martlet", "topics", "create"], section: 1)
    #expect(create.hasPrefix(".TH MARTLET-TOPICS-CREATE 1"))
    #expect(create.contains("Creates Martlet's topics") && create.contains(".BR martlet (1)"))
  }

  @Test func `no line of a page is taken for a request of roff`() throws {
    let known = [".TH", ".nh", ".ad", ".SH", ".TP", ".B ", ".BR", ".PP"]
    for name in ConfigurationPage.programs.map(\.name) + ["apns-simulator"] {
      for line in try page([name], section: 8).split(separator: "\n") {
        let isRequest = line.hasPrefix(".") || line.hasPrefix("'")
        #expect(!isRequest || known.contains { line.hasPrefix($0) }, "\(name): \(line)")
      }
    }
  }

  @Test func `scripts/build says what it makes, and refuses what it does not know`() throws {
    let build = "\(DeployedFiles.root)/scripts/build"
    let help = try run(build, ["--help"])
    #expect(help.status == 0)
    for word in ["--release", "--deb", "--output DIR"] { #expect(help.output.contains(word)) }
    #expect(try run(build, []).status == 2)
    #expect(try run(build, ["--relase"]).status == 2)
  }

  @Test func `every shell script of deploy and scripts parses`() throws {
    let found = try run(
      "/bin/sh",
      ["-c", "cd '\(DeployedFiles.root)' && grep -lE '^#!.*(bash|/sh)$' -r deploy scripts"])
    let scripts = found.output.split(separator: "\n").map(String.init)
    #expect(scripts.count >= 12, "\(scripts)")
    for script in scripts {
      let checked = try run("/bin/bash", ["-n", "\(DeployedFiles.root)/\(script)"])
      #expect(checked.status == 0 && checked.output.isEmpty, "\(checked.output)")
    }
  }
}
