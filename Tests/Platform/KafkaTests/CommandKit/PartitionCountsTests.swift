// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Settings
import TestSupport
import Testing

@Suite struct PartitionCountsTests {
  private func counts(_ text: String?) throws -> [String: Int32] {
    let table = SettingTable([PartitionCounts.setting.setting])
    let arguments = text.map { ["--partitions", $0] } ?? []
    let topics = try PartitionCounts.specifications(TopicNames(), table.values(arguments))
    return Dictionary(uniqueKeysWithValues: topics.map { ($0.name, $0.partitions) })
  }

  @Test func `without the setting every topic has its default`() throws {
    #expect(try counts(nil)["push.requests"] == 12)
    #expect(try counts(nil).count == TopicNames().all.count)
  }

  @Test func `topics are named with and without the prefix`() throws {
    let counts = try counts("notifications=24,push.receipts=3,feedback=8,devices=5")
    #expect(counts["push.notifications"] == 24)
    #expect(counts["push.receipts"] == 3)
    #expect(counts["push.feedback"] == 8 && counts["push.devices"] == 5)
    #expect(counts["push.requests"] == 12 && counts["push.invalid-tokens"] == 4)
  }

  @Test func `a bare number is for all topics but those that have one partition`() throws {
    let counts = try counts("64")
    #expect(counts["push.notifications.bulk"] == 64)
    #expect(counts["push.invalid-tokens"] == 64)
    #expect(counts["push.token-requests"] == 1)
    #expect(counts["push.provider-tokens"] == 1 && counts["push.controls"] == 1)
  }

  @Test(arguments: [
    "nothing=4", "receipts=0", "receipts=many", "token-requests=2", "provider-tokens=3",
    "controls=2",
  ])
  func `what would break the pipeline is refused`(text: String) {
    #expect(throws: SettingErrors.self) { try counts(text) }
  }
}
