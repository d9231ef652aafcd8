// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// What systemd itself says about the units.
@Suite struct UnitFilesTests {
  @Test func `every unit's exposure is at most 1.5 of 10`() throws {
    let units = try DeployedFiles.paths().filter { $0.hasSuffix(".service") }
    #expect(!units.isEmpty)
    let analyze = try SystemProgram.path("systemd-analyze")
    for unit in units {
      let run = try BuiltProgram.run(
        analyze,
        [
          "security", "--no-pager", "--offline=true", "--threshold=15",
          "\(DeployedFiles.folder)/\(unit)",
        ], in: TemporaryFolder())
      #expect(run.status == 0, "\(run.output)")
      #expect(run.output.contains("Overall exposure level"), "\(run.output)")
    }
  }

  @Test func `a crash leaves no memory behind: no core file, no dump in the journal`() throws {
    for unit in try DeployedFiles.paths() where unit.hasSuffix(".service") {
      let lines = try DeployedFiles.text(unit).split(separator: "\n")
      #expect(lines.contains("LimitCORE=0"), "\(unit)")
      #expect(lines.contains("Environment=SWIFT_BACKTRACE=enable=no"), "\(unit)")
      #expect(lines.contains("UMask=0077"), "\(unit)")
    }
    let image = try DeployedFiles.text("docker/Dockerfile")
    #expect(image.contains("\nENV SWIFT_BACKTRACE=enable=no\n"))
  }

  @Test func `no unit keeps a host from its boot or dumps its settings, and each reloads`() throws {
    for unit in try DeployedFiles.paths() where unit.hasSuffix(".service") {
      let lines = try DeployedFiles.text(unit).split(separator: "\n")
      #expect(lines.contains("Type=notify"), "\(unit)")
      #expect(!lines.contains { $0.hasPrefix("TimeoutStartSec=") }, "\(unit)")
      #expect(!lines.contains { $0.hasPrefix("ExecStartPre=") }, "\(unit)")
      // The canary has no file to read again.
      let reloads = lines.contains("ExecReload=/bin/sh -c 'kill -HUP $MAINPID'")
      #expect(reloads != unit.contains("canary"), "\(unit)")
    }
  }

  @Test func `every unit names the manual page that a release has`() throws {
    for unit in try DeployedFiles.paths() where unit.hasSuffix(".service") {
      let program = unit.split(separator: "/").last?.prefix { $0 != "." && $0 != "@" } ?? ""
      let text = try DeployedFiles.text(unit)
      // A command of martlet has its page in section 1.
      let section = text.contains("ExecStart=/usr/local/bin/martlet ") ? 1 : 8
      #expect(text.contains("Documentation=man:\(program)(\(section))\n"))
    }
  }
}
