// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import OperatorCommand
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

/// The cheap part of what makes a release; scripts/test --full makes and installs one.
@Suite struct ReleaseScriptsTests {
  private func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String)
  {
    try BuiltProgram.run(path, arguments, in: TemporaryFolder())
  }

  private func page(_ words: [String], section: Int) throws -> String {
    let program = ChildProcess.sibling(words[0])
    let rest = words.dropFirst().joined(separator: " ")
    let made = try run(
      "/bin/sh",
      [
        "-c",
        "'\(program)' \(rest) --help | '\(Repository.root)/scripts/man-page' '\(words.joined(separator: " "))' \(section)",
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
    let build = "\(Repository.root)/scripts/build"
    let help = try run(build, ["--help"])
    #expect(help.status == 0)
    for word in ["--release", "--deb", "--output DIR"] { #expect(help.output.contains(word)) }
    #expect(try run(build, []).status == 2)
    #expect(try run(build, ["--relase"]).status == 2)
  }

  @Test
  func `a release is signed by who may, and a changed file or a foreign key is noticed`() throws {
    let folder = TemporaryFolder()
    let release = "\(Repository.root)/scripts/release"
    func shell(_ command: String) throws {
      let run = try run("/bin/sh", ["-c", "cd '\(folder.path)' && \(command)"])
      try #require(run.status == 0, "\(run.output)")
    }
    try shell(
      """
      mkdir out && echo programs >out/martlet.tar.xz && (cd out && sha256sum -- * >SHA256SUMS)
      for name in ours theirs; do ssh-keygen -q -t ed25519 -N '' -C '' -f $name; done
      echo "releases@example.com $(cat ours.pub)" >signers
      echo "releases@example.com $(cat theirs.pub)" >others
      """)
    let out = folder.file("out")
    #expect(try run(release, ["--sign", out, folder.file("ours")]).status == 0)
    let good = try run(release, ["--verify", out, folder.file("signers")])
    #expect(good.status == 0 && good.output.contains("signed by releases@example.com"))
    let foreign = try run(release, ["--verify", out, folder.file("others")])
    #expect(foreign.status == 1 && foreign.output.contains("signed by nobody whom"))
    try shell("cp signers out/signers")
    #expect(try run(release, ["--verify", out, folder.file("out/signers")]).status == 0)
    try shell("mv out/signers out/martlet.deb")
    let added = try run(release, ["--verify", out, folder.file("signers")])
    #expect(added.status == 1 && added.output.contains("is not among the files that were signed"))
    try shell("rm out/martlet.deb")
    try shell("echo other >out/martlet.tar.xz")
    let changed = try run(release, ["--verify", out, folder.file("signers")])
    #expect(changed.status == 1 && changed.output.contains("a file is not what was signed"))
    try shell("cd out && sha256sum -- martlet.tar.xz >SHA256SUMS")
    #expect(try run(release, ["--verify", out, folder.file("signers")]).status == 1)
  }

  @Test func `the number of the version is changed wherever it stands`() throws {
    let folder = TemporaryFolder()
    let copied = try run(
      "/bin/sh",
      [
        "-c",
        "cd '\(Repository.root)' && cp -R --parents deploy docs *.md scripts/release"
          + " Sources/Platform/ServiceKit/Version.swift '\(folder.path)'",
      ])
    try #require(copied.status == 0, "\(copied.output)")
    let release = folder.file("scripts/release")
    #expect(try run(release, ["--set", "1.22"]).status == 2)
    #expect(try run(release, ["--set", "98.7.6"]).status == 0)
    let left = try run(
      "/bin/sh",
      [
        "-c",
        "cd '\(folder.path)' && grep -rnF '\(Version.text)' . --include=Version.swift --include=*.yaml"
          + " --include=Dockerfile --include=install.md --include=SECURITY.md; grep -rlF 98.7 . | wc -l",
      ])
    #expect(left.output.split(separator: "\n").count == 1, "\(left.output)")
    #expect((Int(left.output.split(separator: "\n").last ?? "") ?? 0) > 8)
  }

  @Test func `the bill of materials has the programs, the Swift runtime and the packages`() throws {
    let folder = TemporaryFolder()
    let linked = try run(
      "/bin/sh",
      [
        "-c",
        "mkdir '\(folder.path)/bin' && ln -s '\(ChildProcess.sibling("martlet"))' '\(folder.path)/bin/'",
      ])
    try #require(linked.status == 0)
    let made = try run("\(Repository.root)/scripts/sbom", [folder.path])
    try #require(made.status == 0, "\(made.output)")
    let bill = try JSONDocument(made.output).root
    #expect(bill["metadata"]?["component"]?["version"]?.string == Version.text)
    let names = (bill["components"]?.array ?? []).compactMap { $0["name"]?.string }
    for name in ["bin/martlet", "swift-runtime", "librdkafka1", "libpq5"] {
      #expect(names.contains(name), "\(names)")
    }
  }

  @Test func `every shell script of deploy and scripts parses`() throws {
    let found = try run(
      "/bin/sh",
      ["-c", "cd '\(Repository.root)' && grep -lE '^#!.*(bash|/sh)$' -r deploy scripts"])
    let scripts = found.output.split(separator: "\n").map(String.init)
    #expect(!scripts.isEmpty)
    for script in scripts {
      let checked = try run("/bin/bash", ["-n", "\(Repository.root)/\(script)"])
      #expect(checked.status == 0 && checked.output.isEmpty, "\(checked.output)")
    }
  }
}
