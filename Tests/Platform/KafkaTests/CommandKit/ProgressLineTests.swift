// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ServiceKit

@Suite struct ProgressLineTests {
  @Test func `a known size shows bar, percentage, rate and the time that is left`() {
    let text = ProgressLine.text(
      "import", "lines", count: 5_000, fraction: 0.25, milliseconds: 2_000, note: "")
    #expect(text == "import [#####...............] 25 %  5000 lines  2500/s  6s left")
  }

  @Test func `an unknown size shows what is known`() {
    let text = ProgressLine.text(
      "import", "lines", count: 10, fraction: nil, milliseconds: 1_000, note: "waiting")
    #expect(text == "import  10 lines  10/s  (waiting)")
  }

  @Test func `long times are minutes and hours`() {
    func left(_ milliseconds: UInt64) -> String {
      let text = ProgressLine.text(
        "x", "y", count: 1, fraction: 0.5, milliseconds: milliseconds, note: "")
      return String(text.split(separator: " ").suffix(2).first ?? "")
    }
    #expect(left(65_000) == "1m05s")
    #expect(left(3_720_000) == "1h02m")
  }

  @Test func `nothing is said to be left when the last of it takes longer than all else promised`()
  {
    let text = ProgressLine.text(
      "x", "y", count: 19_999, fraction: 0.999_95, milliseconds: 20_000, note: "")
    #expect(text.contains("99 %") && !text.contains("left"), "\(text)")
  }

  @Test func `work that stands has no time left, and what it stood does not count`() {
    func text(stood: UInt64?) -> String {
      ProgressLine.text(
        "x", "y", count: 1, fraction: 0.5, milliseconds: 60_000, stood: stood, note: "")
    }
    #expect(!text(stood: nil).contains("left"))
    #expect(text(stood: 50_000).hasSuffix("10s left") && text(stood: 0).hasSuffix("1m00s left"))
  }

  @Test func `a line is no wider than the terminal`() {
    let text = ProgressLine.text(
      "demo", "outcomes", count: 1_000_000, fraction: 0.5, milliseconds: 10_000,
      note: "20000 requests, 19000 delivered, 400 rejected, 300 suppressed, 12 dead_lettered")
    #expect(text.count > 100)
    let cut = ProgressLine.cut(text, to: 80)
    #expect(cut.count == 79 && cut.hasSuffix("…") && text.hasPrefix(cut.dropLast()))
    #expect(ProgressLine.cut(text, to: nil) == text && ProgressLine.cut("demo", to: 80) == "demo")
    #expect(ProgressLine.cut(text, to: 1).count <= 1)
  }

  @Test func `work that is done has no time left`() {
    let text = ProgressLine.text("x", "y", count: 1, fraction: 1, milliseconds: 10, note: "")
    #expect(!text.contains("left"))
  }
}
