// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

/// `docs/conformance.md` says what is tested; this holds it to that.
@Suite struct ConformanceTests {
  private let index = TestIndex()
  private var path: String { "\(index.root)/docs/conformance.md" }

  @Test func `the names of tests are found in their sources`() {
    let text = """
      @Test(arguments: Reason.allCases)
      func `one (with parentheses)`(_ reason: Reason) {}
      @Test func `two words`() {}
      @Test(arguments: [1, 2]) func three(_ number: Int) {}
      """
    let found = NamedTest.all(in: text, target: "T")
    #expect(found.map(\.name) == ["one (with parentheses)", "two words", "three"])
    #expect(found.map { $0.coversAll(of: "Reason") } == [true, false, false])
  }

  @Test func `a word is found as a whole only`() {
    let test = NamedTest(target: "T", name: "stream_reset: BadTopic, and F1", attribute: "")
    #expect(test.mentions("stream_reset") && test.mentions("BadTopic"))
    #expect(!test.mentions("BadTop") && !test.mentions("Topic") && !test.mentions("F0"))
  }

  @Test func `every reason and every fault has a test on both sides`() {
    for gap in ConformancePage(index: index).gaps { Issue.record("no test: \(gap)") }
  }

  @Test func `the page in docs is what the tests say`() {
    let text = ConformancePage(index: index).text
    if getenv("MARTLET_WRITE_DOCS") != nil {
      let file = fopen(path, "w")
      fputs(text, file)
      fclose(file)
    }
    #expect(
      TestIndex.text(path) == text,
      "docs/conformance.md is out of date: MARTLET_WRITE_DOCS=1 swift test --filter ConformanceTests"
    )
  }
}
