// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Testing

@Suite struct ReasonsPageTests {
  @Test func `the page of reasons is what the decision table says`() throws {
    let path = "\(DeployedFiles.root)/docs/reference/reasons.md"
    if getenv("MARTLET_WRITE_DOCS") != nil, let file = fopen(path, "w") {
      fputs(ReasonsPage.text, file)
      fclose(file)
    }
    #expect(
      String(decoding: try File.read(path), as: UTF8.self) == ReasonsPage.text,
      "out of date: scripts/docs writes it")
  }
}
