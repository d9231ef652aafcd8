// SPDX-License-Identifier: Apache-2.0
import CRdKafka
import Telemetry
import TestSupport
import Testing

@testable import ConsumerGroup
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

  /// librdkafka gives a commit the error of its last refused partition: the others would be committed again and again,
  /// and counted as refused.
  @Test func `the error of a partition is not that of a commit whose others were taken`() {
    let refused = RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE
    let transport = RD_KAFKA_RESP_ERR__TRANSPORT
    #expect(refused.rawValue == refusal.code)
    #expect(results(refused: [1]).failure(refused, "commit") == nil)
    #expect(results(refused: []).failure(RD_KAFKA_RESP_ERR_NO_ERROR, "commit") == nil)
    #expect(results(refused: [0, 1, 2]).failure(refused, "commit")?.code == refusal.code)
    // Nobody has answered.
    #expect(results(refused: []).failure(transport, "commit")?.code == transport.rawValue)
    #expect(results(refused: [1]).failure(transport, "commit")?.code == transport.rawValue)
  }

  /// A cluster whose offset.metadata.max.bytes is lower than usual: without an end no offset would be committed.
  @Test func `a map that is too long for the brokers is shortened until they take it`() {
    var commits = GroupCommits(context, cost: "does it again")
    let client = StingyCoordinator(most: 600)
    // Every second record is done.
    let runs = (0..<4_000 as Range<Int64>).map { $0 * 2 + 1..<$0 * 2 + 2 }
    let plan = PlannedCommit(partition: partitions[0], offset: 0, completedAbove: runs)
    for now in 1...4 as ClosedRange<UInt64> {
      #expect(commits.send([plan], client, now))
      _ = commits.answered(client.drainResults(), nil, now: now)
    }
    #expect(client.lengths.count == 4)
    #expect(client.lengths[0] > 4_000 && client.lengths[2] > 600 && client.lengths[3] > 500)
    #expect(client.lengths[3] <= 600)
    #expect(refused == 3)
    #expect(commits.last([plan], client)?.count == 1)
  }
}

/// A coordinator that stores little beside an offset.
private final class StingyCoordinator: GroupClient {
  private let most: Int
  private var results: [CommitResult] = []
  /// Those of the metadata of each commit.
  private(set) var lengths: [Int] = []

  init(most: Int) { self.most = most }

  func drainResults() -> [CommitResult] {
    defer { results = [] }
    return results
  }

  func commit(_ offsets: [CommitRequest], timeoutMilliseconds: Int32) throws(KafkaError)
    -> [CommitResult]
  {
    offsets.map { request in
      let length = request.metadata?.utf8.count ?? 0
      lengths.append(length)
      return CommitResult(
        partition: request.partition, offset: request.offset,
        error: length > most ? KafkaError(code: 12, message: "too large") : nil)
    }
  }

  func commitAsync(_ offsets: [CommitRequest]) throws(KafkaError) {
    results += try commit(offsets, timeoutMilliseconds: 0)
  }

  func nextEvent(timeoutMilliseconds: Int32) -> GroupEvent? { nil }
  func committed(_ partitions: [TopicPartition], timeoutMilliseconds: Int32) throws(KafkaError)
    -> [CommittedOffset]
  { [] }
  func knownEnds(_ partitions: [TopicPartition]) -> [TopicPartition: Int64] { [:] }
  func assign(_ starts: [PartitionStart]) throws(KafkaError) {}
  func unassign() throws(KafkaError) {}
  func retire() {}
  func rejoin() throws(KafkaError) {}
  func close(timeoutMilliseconds: UInt64) {}
}
