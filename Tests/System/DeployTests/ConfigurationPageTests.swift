// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Testing

/// The page about settings is made from the settings.
@Suite struct ConfigurationPageTests {
  private let path =
    #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
    + "/docs/reference/configuration.md"

  @Test func `the page in docs is what the programs declare`() throws {
    let text = ConfigurationPage.text
    if getenv("MARTLET_WRITE_DOCS") != nil, let file = fopen(path, "w") {
      fputs(text, file)
      fclose(file)
    }
    #expect(
      String(decoding: try File.read(path), as: UTF8.self) == text,
      "out of date: MARTLET_WRITE_DOCS=1 swift test --filter ConfigurationPageTests")
  }
}
