// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Testing

@testable import Sender

/// Fewer partitions than loops.
@Suite struct CoverageWarningTests {
  private let names = TopicNames()

  private func warning(loops: Int) -> CoverageWarning {
    CoverageWarning(
      loops: loops, names,
      [
        names.notifications(.first): 12, names.notifications(.bulk): 6, names.retries(.seconds5): 4,
        names.retries(.minute1): 2,
      ])
  }

  private func partitions(_ count: Int) -> [TopicPartition] {
    (0..<count).map { TopicPartition(topic: names.notifications(.first), partition: Int32($0)) }
  }

  @Test func `a sender alone: each lane that has too few, once`() {
    var warning = warning(loops: 8)
    let found = warning.findings(partitions(24))
    #expect(found.map(\.place) == [names.notifications(.bulk)])
    #expect(
      found.first?.message
        == "6 partitions; one sender has 8 loops, so 2 of them send nothing of it")
    #expect(warning.findings(partitions(24)).isEmpty, "said before")
    var enough = self.warning(loops: 6)
    #expect(enough.findings(partitions(24)).isEmpty)
  }

  @Test func `a further sender takes partitions away, and the warning comes again`() {
    var warning = warning(loops: 6)
    #expect(warning.findings(partitions(24)).isEmpty)
    let two = warning.findings(partitions(12))
    #expect(two.map(\.place) == [names.notifications(.bulk)])
    #expect(two.first?.message.hasPrefix("6 partitions; 2 senders have 12 loops") == true)
    let three = warning.findings(partitions(8))
    #expect(three.map(\.place) == [names.notifications(.first), names.notifications(.bulk)])
    #expect(warning.findings(partitions(24)).isEmpty, "the others have left: enough for one")
  }
}
