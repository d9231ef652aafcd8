// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct ZoneFindingTests {
  private func finding(
    _ name: String?, days: Int64? = 400, isOld: Bool = false, outdated: [String] = []
  ) -> Finding {
    ZoneFindings.data(named: name, in: "/zones", days: days, isOld: isOld, outdated: outdated)
  }

  @Test func `the edition is said, and an old one is a warning with its remedy`() {
    #expect(finding("tzdata 2026f", days: 3).message == "tzdata 2026f, 3 days old")
    #expect(finding("tzdata 2026f", days: 3).status == .ok)
    let old = finding("tzdata 2025b", isOld: true)
    #expect(old.status == .warning && old.message.hasPrefix("tzdata 2025b, 400 days old: where "))
    #expect(old.remedy.contains("--only-upgrade tzdata"))
    let outdated = finding("tzdata 2025b", days: nil, isOld: true, outdated: ["A/B", "C/D"])
    #expect(outdated.message.contains("of unknown age: local times are an hour wrong in A/B, C/D"))
    #expect(finding(nil).message.contains("no time zone database"))
    #expect(finding(nil).status == .warning)
  }
}
