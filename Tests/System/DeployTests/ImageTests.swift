// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import SystemTestSupport
import TestSupport
import Testing

/// deploy/docker/Dockerfile, without Docker: hadolint's rules, and the libraries that the programs load.
@Suite struct ImageTests {
  private static let programs =
    ConfigurationPage.programs.map(\.name) + ["apns-simulator", "martlet", "martlet-lab"]

  @Test func `hadolint has no objection`() throws {
    let hadolint = try DeployedFiles.python().replacing(
      "/python/bin/python", with: "/python/bin/hadolint")
    let run = try BuiltProgram.run(
      hadolint, ["\(DeployedFiles.folder)/docker/Dockerfile"], in: TemporaryFolder(),
      withinMilliseconds: 60_000)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test func `the image's bases have versions, its user is not root, and its health is /healthz`()
    throws
  {
    let lines = try DeployedFiles.text("docker/Dockerfile").split(separator: "\n")
    // A release gives digests in place of the tags.
    let bases = lines.filter { $0.hasPrefix("FROM ") }
    #expect(bases == ["FROM ${BUILD_BASE} AS build", "FROM ${BASE}"])
    let tags = lines.filter { $0.contains(#/^ARG (BUILD_)?BASE=[a-z]+:\d+\.\d+[a-z0-9.-]*$/#) }
    #expect(tags.count == 2, "\(tags)")
    let users = lines.filter { $0.hasPrefix("USER ") }
    #expect(users == ["USER 10001:10001"])
    #expect(lines.contains { $0.hasPrefix("HEALTHCHECK ") })
    #expect(lines.contains { $0.contains(#""http://127.0.0.1:9470/healthz""#) })
    #expect(lines.contains("ENV MARTLET_HTTP=0.0.0.0:9470"))
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
      try SystemProgram.path("dpkg"), ["-S"] + foreign.sorted().map { "*/\($0)" }, in: folder,
      withinMilliseconds: 60_000)
    // Without the C library, which every system has, and packages for 32 bits with files of the same names.
    return Set(
      owners.output.matches(of: #/(?m)^([a-z0-9.+-]+):/#).map { String($0.1) }
        .filter { !$0.hasPrefix("libc6") && !$0.contains("32") })
  }

  /// The Debian of the image; others have the libraries in packages of other names.
  private static let isBookworm =
    (try? File.read("/etc/os-release")).map {
      String(decoding: $0, as: UTF8.self).contains("VERSION_CODENAME=bookworm")
    } ?? false

  @Test(.enabled(if: isBookworm))
  func `the image and the page about installing have the libraries that programs load`()
    throws
  {
    let needed = try librariesPackages()
    #expect(needed.contains("librdkafka1"))
    let install =
      try DeployedFiles.text("docker/Dockerfile")
      .split(separator: "--no-install-recommends").dropFirst().first?.prefix { $0 != "&" } ?? ""
    let installed = Set(
      install.split(whereSeparator: { " \n\\".contains($0) }).map(String.init))
    #expect(needed.isSubset(of: installed), "\(needed.subtracting(installed))")
    // The rest has a reason of its own: a comment names it.
    let rest = installed.subtracting(needed).subtracting(["libgcc-s1", "libstdc++6"])
    #expect(rest == ["ca-certificates", "curl"])
    let page = try DeployedFiles.text("../docs/install.md")
    for package in installed where package != "curl" {
      #expect(page.contains(package), "docs/install.md: \(package)")
    }
  }
}
