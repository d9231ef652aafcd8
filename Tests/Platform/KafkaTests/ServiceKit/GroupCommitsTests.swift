// SPDX-License-Identifier: Apache-2.0
import Telemetry
import TestSupport
import Testing

@testable import Kafka
@testable import ServiceKit

/// What is counted and timed of the coordinator's answers to commits.
@Suite struct GroupCommitsTests {
  private let context: ServiceContext
  private let partitions = (0..<3 as Range<Int32>).map { TopicPartition(topic: "t", partition: $0) }
  private let refusal = KafkaError(code: 15, message: "refused", isRetriable: true)

  init() throws {
    context = try .test()
    context.group.join("g", topics: ["t"])
  }

  private func results(refused: Set<Int32>) -> [CommitResult] {
    partitions.map {
      CommitResult(partition: $0, offset: 9, error: refused.contains($0.partition) ? refusal : nil)
    }
  }

  private var refused: Int {
    context.counters.sums.first { $0.name == "commits_refused" }?.value ?? 0
  }

  private var timed: Int {
    let sample = context.group.samples.first { $0.metric.name == "martlet_kafka_commit_seconds" }
    guard case .histogram(let counts) = sample?.value else { return 0 }
    return Int(counts.count)
  }

  @Test func `a refusal counts for each partition, also beside others that are taken`() {
    var commits = GroupCommits(context, cost: "does it again")
    var before = 0
    let requests = partitions.map { CommitRequest($0, offset: 9) }
    for (answer, error, count) in [
      (results(refused: [1]), nil, 1), (results(refused: [0, 1, 2]), refusal, 4),
      // Only the commit as a whole says that it failed.
      (results(refused: []), refusal, 7),
    ] {
      context.group.commitSent(requests, now: 100)
      let (taken, again) = commits.answered(answer, error, now: 120)
      #expect(taken.count + again.count == 3 && again.count == count - before)
      before = count
      #expect(refused == count && timed == 0)
    }
    context.group.commitSent(requests, now: 200)
    #expect(commits.answered(results(refused: []), nil, now: 220).taken.count == 3)
    #expect(refused == 7 && timed == 1)
  }
}
