// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Testing

@testable import Sender

/// Fewer partitions than loops.
@Suite struct CoverageWarningTests {
  private let names = TopicNames()

  private func warning(loops: Int) -> CoverageWarning { CoverageWarning(loops: loops, names) }

  private func partitions(_ count: Int) -> [TopicPartition] {
    (0..<count).map {
      TopicPartition(topic: names.notifications(.first), partition: Int32($0 % 12))
    }
  }

  private func known(bulk: Int) -> (String) -> Int {
    let counts = [
      names.notifications(.first): 12, names.notifications(.bulk): bulk,
      names.retries(.seconds5): 4, names.retries(.minute1): 2,
    ]
    return { counts[$0] ?? 0 }
  }

  @Test func `a sender alone: each lane that has too few, once`() {
    var warning = warning(loops: 8)
    let found = warning.findings(partitions(24), of: known(bulk: 6))
    #expect(found.map(\.place) == [names.notifications(.bulk)])
    #expect(
      found.first?.message
        == "6 partitions; one sender has 8 loops, so 2 of them send nothing of it")
    #expect(warning.findings(partitions(24), of: known(bulk: 6)).isEmpty, "said before")
    var enough = self.warning(loops: 6)
    #expect(enough.findings(partitions(24), of: known(bulk: 6)).isEmpty)
  }

  @Test func `a further sender takes partitions away, and the warning comes again`() {
    var warning = warning(loops: 6)
    #expect(warning.findings(partitions(24), of: known(bulk: 6)).isEmpty)
    let two = warning.findings(partitions(12), of: known(bulk: 6))
    #expect(two.map(\.place) == [names.notifications(.bulk)])
    #expect(two.first?.message.hasPrefix("6 partitions; 2 senders have 12 loops") == true)
    let three = warning.findings(partitions(8), of: known(bulk: 6))
    #expect(three.map(\.place) == [names.notifications(.first), names.notifications(.bulk)])
    let one = warning.findings(partitions(24), of: known(bulk: 6))
    #expect(one.isEmpty, "the others have left: enough for one")
  }

  @Test func `partitions that were added meanwhile count`() {
    var warning = warning(loops: 8)
    #expect(warning.findings(partitions(24), of: known(bulk: 6)).count == 1)
    let two = warning.findings(partitions(17), of: known(bulk: 16))
    #expect(two.map(\.place) == [names.notifications(.first)], "12 partitions, 16 loops")
  }

  @Test func `partitions that are assigned before they are seen count`() {
    var warning = warning(loops: 8)
    let added = (0..<16 as Range<Int32>).map {
      TopicPartition(topic: names.notifications(.bulk), partition: $0)
    }
    #expect(warning.findings(added + partitions(18), of: known(bulk: 6)).isEmpty)
  }
}
