// SPDX-License-Identifier: Apache-2.0
import Testing

/// What the build does not say of the modules and their imports.
@Suite struct ManifestTests {
  private let repository = Repository()

  @Test func `imports are read from a file's lines`() {
    let lines: [Substring] = [
      "import A", "package import B", "@testable import C", "// import D", "let import = 1",
    ]
    #expect(Manifest.imports(lines) == ["A", "B", "C"])
  }

  @Test func `every declared dependency is imported by a file of its target`() throws {
    let targets = try Manifest.targets()
    #expect(!targets.isEmpty)
    for target in targets {
      let files = repository.swiftPaths.filter { $0.hasPrefix("\(target.path)/") }
      let imported = Set(files.flatMap { Manifest.imports(repository.lines($0)) })
      for name in target.dependencies where !imported.contains(name) {
        Issue.record("\(target.name) declares \(name) and imports it nowhere")
      }
    }
  }

  @Test func `values import values, and have no pointer, clock or output`() throws {
    let values = try Manifest.targets().filter(\.isValue)
    #expect(!values.isEmpty)
    let names = Set(values.map(\.name))
    for path in repository.swiftPaths
    where values.contains(where: { path.hasPrefix("\($0.path)/") }) {
      let lines = repository.lines(path)
      for name in Manifest.imports(lines) where !names.contains(name) {
        Issue.record("\(path) imports \(name)")
      }
      for word in SourceRules.impurities(lines) { Issue.record("\(path) has \(word)") }
    }
  }
}
