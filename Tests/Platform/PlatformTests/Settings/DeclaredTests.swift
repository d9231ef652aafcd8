// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

/// A setting is declared once, by the property that holds its value.
@Suite struct DeclaredTests {
  private struct Shared: DeclaredSettings {
    @Declared(.text("name", placeholder: "NAME", "A name.")) var name: String?
  }

  private struct Example: DeclaredSettings {
    @Declared(.integer("loops", default: 3, in: 1...64, "Threads.")) var loops: Int
    @Declared(.duration("wait", default: "10s", "A time.")) var wait: Int64
    var shared = Shared()
    @Declared(.path("file", "A file.")) var file: String
    static let table = SettingTable(declaredBy: Self.self)
  }

  private func read(_ flags: [String]) throws -> Example {
    Example.reading(try Example.table.read(CommandLineFlags(flags, for: Example.table)))
  }

  @Test func `the table has the declarations in the order of the properties, groups included`() {
    #expect(Example.table.settings.map(\.name) == ["loops", "wait", "name", "file"])
    #expect(Example.table.settings.map(\.isRequired) == [false, false, false, true])
    #expect(Example.table["loops"]?.kind == .integer(1...64))
    #expect(Example.table["wait"]?.defaultText == "10s")
  }

  @Test func `a property has the value that was given, or the default`() throws {
    let example = try read(["--file", "a", "--loops=9", "--name", "n"])
    #expect(example.loops == 9)
    #expect(example.wait == 10_000)
    #expect(example.shared.name == "n")
    #expect(example.file == "a")
  }

  @Test
  func `a value that breaks its rule, or a missing one, is refused before any property is made`() {
    #expect(throws: SettingErrors.self) { try read(["--file", "a", "--loops", "65"]) }
    #expect(throws: SettingErrors.self) { try read([]) }
  }

  @Test func `without values a struct has the defaults`() {
    #expect(Example().loops == 3)
    #expect(Example().shared.name == nil)
    #expect(Example().file == "")
  }
}
