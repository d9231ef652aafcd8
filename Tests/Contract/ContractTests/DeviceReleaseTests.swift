// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct DeviceReleaseTests {
  private func read(_ text: String) -> DeviceRelease? { DeviceRelease(text.utf8.span) }

  @Test(arguments: DeviceRelease.Reason.allCases)
  func `a release is read as it was written`(reason: DeviceRelease.Reason) {
    for time in [0, 1, 999_999_999, 1_795_000_000_000, OutsideTime.last] as [Int64] {
      let release = DeviceRelease(reason, at: time)
      #expect(read(release.text) == release)
    }
    #expect(ReceiptCause.allCases.contains(reason.cause))
    #expect("\(reason.cause.code)" == "\(reason.word)")
  }

  @Test(arguments: [
    "", "removed", "removed ", "removed x", "removed -1", "removed 1 ", "removed  1", "gone 1",
    "Removed 1", "removed 253402300800000", "removed 99999999999999999999999999999999999",
    "removed 1795000000", "owner_changed", "removedowner_changed 1",
  ])
  func `what is none is not taken for one`(text: String) {
    #expect(read(text) == nil)
  }
}
