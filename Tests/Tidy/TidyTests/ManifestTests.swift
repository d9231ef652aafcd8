// SPDX-License-Identifier: Apache-2.0
import Testing

/// What the build does not say: a dependency that no file imports.
@Suite struct ManifestTests {
  private let repository = Repository()

  @Test func `targets are read from the manifest's text`() {
    let manifest = Manifest(
      """

          values("Contract", "Contract", ["APNS"]),
          values("Platform", "Settings"),
          shell("Simulator", "HTTP2Server", ["APNS"], settings: outer),
          trial("martlet-chaos", "Tests/Chaos", ["ChaosSuite"]),
          program("API", "martlet-api", ["API"]),
          service(
            "Ingest", "Ingest",
            ["APNS",
             "Kafka"]),
          .executableTarget(
            name: "example", dependencies: ["Ingest"],
            path: "Sources/example", swiftSettings: swift),
          tests("IO", "TLS", ["Bytes"], exclude: ["Python"]),
      """)
    #expect(manifest.values == ["Sources/Contract/Contract/", "Sources/Platform/Settings/"])
    #expect(
      manifest.targets == [
        .init(name: "Contract", path: "Sources/Contract/Contract", dependencies: ["APNS"]),
        .init(name: "Settings", path: "Sources/Platform/Settings", dependencies: []),
        .init(name: "HTTP2Server", path: "Sources/Simulator/HTTP2Server", dependencies: ["APNS"]),
        .init(name: "martlet-api", path: "Sources/API/martlet-api", dependencies: ["API"]),
        .init(name: "Ingest", path: "Sources/Ingest/Ingest", dependencies: ["APNS", "Kafka"]),
        .init(name: "TLSTests", path: "Tests/IO/TLSTests", dependencies: ["Bytes"]),
        .init(
          name: "martlet-chaos", path: "Tests/Chaos/martlet-chaos", dependencies: ["ChaosSuite"]),
        .init(name: "example", path: "Sources/example", dependencies: ["Ingest"]),
      ])
  }

  @Test func `imports are read from a file's lines`() {
    let lines: [Substring] = [
      "import A", "package import B", "@testable import C", "// import D", "let import = 1",
    ]
    #expect(Manifest.imports(lines) == ["A", "B", "C"])
  }

  @Test func `every declared dependency is imported by a file of its target`() {
    let targets = Manifest(repository.text("Package.swift")).targets
    let count = targets.count
    #expect(count > 70)
    for target in targets {
      let files = repository.swiftPaths.filter { $0.hasPrefix("\(target.path)/") }
      #expect(!files.isEmpty, "\(target.path)")
      let imported = Set(files.flatMap { Manifest.imports(repository.lines($0)) })
      for name in target.dependencies where !imported.contains(name) {
        Issue.record("\(target.name) declares \(name) and imports it nowhere")
      }
    }
  }

  @Test func `every test of the core runs in the developer's loop`() throws {
    let text = repository.text("scripts/suites")
    let setting = try #require(text.firstMatch(of: #/\nlight='\^\(([^)]*)\)Tests/#))
    let light = setting.1.split(separator: "|")
    let targets = Manifest(repository.text("Package.swift")).targets
    let ofCore = targets.filter { $0.path.hasPrefix("Tests/Core/") }.map(\.name)
    #expect(ofCore.count > 10)
    for name in ofCore where !light.contains(where: { "\($0)Tests" == name }) {
      Issue.record("scripts/suites leaves \(name) out of `light`")
    }
  }
}
