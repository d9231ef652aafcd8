// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// What compiler and linker were told to harden, read off the programs; deploy/debian/test reads a release's.
@Suite struct HardeningTests {
  private func hardening(_ files: [String]) throws -> (status: Int32, output: String) {
    try BuiltProgram.run("\(Repository.root)/scripts/hardening", files, in: TemporaryFolder())
  }

  @Test func `every program is position-independent, bound at its start, and has no writable code`()
    throws
  {
    let names =
      ConfigurationPage.programs.map(\.name) + ["apns-simulator", "martlet", "martlet-lab"]
    let run = try hardening(names.map { ChildProcess.sibling($0) })
    #expect(run.status == 0, "\(run.output)")
  }

  /// A program that lacks one of them is told from one that has them.
  @Test(arguments: [
    ("-no-pie", "position"), ("-Wl,-z,lazy", "bound"), ("-Wl,-z,norelro", "relocations"),
    ("-Wl,-z,execstack", "stack"), ("-fno-stack-protector", "stack"),
  ])
  func `a program without one of them is refused`(flag: String, word: String) throws {
    let folder = TemporaryFolder()
    let program = folder.file("program")
    let source =
      #"#include <stdio.h>\nint main(void) { char b[99]; return fgets(b, 99, stdin) == 0; }"#
    let made = try BuiltProgram.run(
      "/bin/sh",
      [
        "-c",
        "printf '\(source)\\n' | cc -x c -pie -fPIE -fstack-protector-strong -Wl,-z,relro,-z,now \(flag) -o '\(program)' -",
      ], in: folder)
    try #require(made.status == 0, "\(made.output)")
    let run = try hardening([program])
    #expect(run.status == 1 && run.output.contains(word), "\(run.output)")
  }
}
