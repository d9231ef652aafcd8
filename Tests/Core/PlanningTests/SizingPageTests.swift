// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Planning
import Testing

/// docs/sizing.md, with its sections `KafkaSection`, `PredictionSection` and `SeenSection`.
@Suite struct SizingPageTests {
  private let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
  private var path: String { root + "/docs/sizing.md" }

  @Test func `the page in docs is what the planner says`() throws {
    let text = SizingPage.text(.measured, MeasuredRun.all)
    if getenv("MARTLET_WRITE_DOCS") != nil, let file = fopen(path, "w") {
      fputs(text, file)
      fclose(file)
    }
    #expect(
      String(decoding: try File.read(path), as: UTF8.self) == text,
      "out of date: MARTLET_WRITE_DOCS=1 swift test --filter SizingPageTests")
  }
}
