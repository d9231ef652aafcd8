// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct TraceParentTests {
  private static let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  private func isValid(_ text: String) -> Bool { TraceParent.isValid(text.utf8.span) }

  private static let ones = String(repeating: "1", count: 32)
  private static let zeros = String(repeating: "0", count: 32)
  private static let valid: [String] = [
    good, good.dropLast(2) + "00", "00-\(ones)-0000000000000001-ff",
  ]
  private static let invalid: [String] = [
    "", "00", good + "0", String(good.dropLast()), good.uppercased(), "01" + good.dropFirst(2),
    "ff" + good.dropFirst(2), "00-\(zeros)-b7ad6b7169203331-01", "00-\(ones)-0000000000000000-01",
    good.replacing("-b7", with: "_b7"), good.dropLast() + "g", good.dropLast() + "\t",
    good.dropLast() + "\"",
  ]

  @Test(arguments: valid)
  func `version 00 with two ids is one`(text: String) { #expect(isValid(text)) }

  @Test(arguments: invalid)
  func `any other text is no trace`(text: String) { #expect(!isValid(text)) }
}
