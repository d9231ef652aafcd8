// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// deploy/docker/Dockerfile, without Docker: hadolint's rules, and the libraries that the programs load.
@Suite struct ImageTests {
  private static let programs =
    ConfigurationPage.programs.map(\.name) + ["apns-simulator", "martlet", "martlet-lab"]

  @Test func `hadolint has no objection`() throws {
    let run = try BuiltProgram.run(
      SystemProgram.python("hadolint"), ["\(DeployedFiles.folder)/docker/Dockerfile"],
      in: TemporaryFolder())
    #expect(run.status == 0, "\(run.output)")
  }

  @Test func `the image's bases have versions, its user is not root, and its health is /healthz`()
    throws
  {
    let lines = try DeployedFiles.text("docker/Dockerfile").split(separator: "\n")
    // A release gives digests in place of the tags.
    let bases = lines.filter { $0.hasPrefix("FROM ") }
    #expect(bases == ["FROM ${BUILD_BASE} AS swift", "FROM ${TOOLCHAIN} AS build", "FROM ${BASE}"])
    let tags = lines.filter { $0.contains(#/^ARG (BUILD_)?BASE=[a-z]+:\d+\.\d+[a-z0-9.-]*$/#) }
    #expect(tags.count == 2, "\(tags)")
    let users = lines.filter { $0.hasPrefix("USER ") }
    #expect(users == ["USER 10001:10001"])
    #expect(lines.contains { $0.hasPrefix("HEALTHCHECK ") })
    #expect(lines.contains { $0.contains(#""http://127.0.0.1:9470/healthz""#) })
    #expect(lines.contains("ENV MARTLET_HTTP=0.0.0.0:9470"))
  }

  /// Without it a sort of SQLite's that does not fit in memory fails with "disk I/O error", each time that it is tried
  /// again, and the HTTP API reads no more of a body than it has room for verdicts in memory.
  @Test func `temporary files have a place where the root is read-only`() throws {
    let dockerfile = try DeployedFiles.text("docker/Dockerfile")
    let volume = try #require(dockerfile.firstMatch(of: #/\nENV STATE_DIRECTORY=(\S+)\n/#)?.1)
    #expect(dockerfile.contains("\nENV TMPDIR=\(volume)\n"))
    for name in ["feedback", "scheduler", "api"] {
      let pod = try DeployedFiles.text("kubernetes/\(name).yaml")
      #expect(pod.contains(", mountPath: \(volume)}"), "\(name)")
    }
  }

  /// Debian's packages of the libraries that programs of this build name, without the Swift runtime, which a release
  /// has inside.
  private func librariesPackages() throws -> Set<String> {
    let folder = TemporaryFolder()
    let files = Self.programs.map { ChildProcess.sibling($0) }
    let headers = try BuiltProgram.run(
      try SystemProgram.path("readelf"), ["-d"] + files, in: folder)
    let names = Set(
      headers.output.matches(of: #/Shared library: \[([^\]]+)\]/#).map { String($0.1) })
    let foreign = names.filter { name in
      !["libswift", "lib_", "libFoundation", "libdispatch", "libBlocksRuntime", "ld-linux"].contains
      {
        name.hasPrefix($0)
      }
    }
    #expect(foreign.count > 6, "\(headers.output)")
    let owners = try BuiltProgram.run(
      try SystemProgram.path("dpkg"), ["-S"] + foreign.sorted().map { "*/\($0)" }, in: folder)
    // Without the C library, which every system has, and packages for 32 bits with files of the same names.
    return Set(
      owners.output.matches(of: #/(?m)^([a-z0-9.+-]+):/#).map { String($0.1) }
        .filter { !$0.hasPrefix("libc6") && !$0.contains("32") })
  }

  /// The version of this Debian, if it is one: each has the libraries in packages of its own names.
  private static let debian: Substring? = {
    let system = try? File.text("/etc/os-release")
    guard let system, system.contains("\nID=debian\n") else { return nil }
    return system.firstMatch(of: #/\nVERSION_ID="(\d+)"/#)?.1
  }()

  /// The packages of the first command that installs some.
  private func installed(by text: Substring) -> Set<String> {
    let names = text.split(separator: "--no-install-recommends").dropFirst().first ?? ""
    return Set(names.prefix { !"&`$".contains($0) }.split { " \n\\".contains($0) }.map(String.init))
  }

  @Test(.enabled(if: debian != nil))
  func `the page about installing has the libraries that programs load`() throws {
    let needed = try librariesPackages()
    #expect(needed.contains("librdkafka1"))
    let page = try DeployedFiles.text("../docs/install.md")
    let command = page.split(separator: "\n# Debian \(Self.debian ?? "")\n").dropFirst().first ?? ""
    let rest = installed(by: command).subtracting(needed)
    #expect(needed.isSubset(of: installed(by: command)), "\(needed)")
    // Names of time zones of before are a package of their own from Debian 13 on.
    #expect(
      rest.subtracting(["libgcc-s1", "libstdc++6", "tzdata-legacy"])
        == ["ca-certificates", "tzdata"])
  }

  /// Those whose names differ among Debians are in a branch for each.
  private func branch(_ debian: Substring, of text: Substring) -> Set<String> {
    let branches = text.matches(of: #/ (\d+|\*)\) echo ([a-z0-9. -]+) ;;/#)
    let own = branches.first { $0.1 == debian } ?? branches.last
    return Set(own?.2.split(separator: " ").map(String.init) ?? [])
  }

  @Test(.enabled(if: debian != nil))
  func `the image has the libraries that programs load`() throws {
    let needed = try librariesPackages()
    // What programs run in, not what builds them.
    let file = try DeployedFiles.text("docker/Dockerfile").split(separator: "\nFROM ").last ?? ""
    let packages = installed(by: file).union(branch(Self.debian ?? "", of: file))
    #expect(needed.isSubset(of: packages), "\(needed.subtracting(packages))")
    // The rest has a reason of its own: a comment names it.
    let rest = packages.subtracting(needed)
      .subtracting(["libgcc-s1", "libstdc++6", "tzdata-legacy"])
    #expect(rest == ["ca-certificates", "curl", "tzdata"])
  }
}
