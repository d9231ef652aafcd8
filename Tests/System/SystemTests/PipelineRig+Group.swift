// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import TestSupport
import Testing

/// What a group has done before the service under test starts.
extension PipelineRig {
  /// Commits the ends of these topics, or another place in their logs, for a group that has no member yet. It joins for that, which takes some
  /// seconds. The embedded broker takes the session time-out of a group's first member for all of them.
  func commitEnds(
    of topics: [String], by group: ReaderGroup, sessionMilliseconds session: Int,
    at place: KeyPath<Watermarks, Int64> = \.high
  ) throws {
    var configuration = configuration
    configuration.consumer.append(("session.timeout.ms", "\(session)"))
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    let consumer = try KafkaGroupConsumer(
      configuration, group: names.group(group), topics: topics, wakeup: nil)
    defer { consumer.close() }
    var queues: [KafkaQueue] = []
    defer { for queue in queues { queue.close() } }
    let isDone = try eventually {
      while let event = consumer.nextEvent() {
        guard case .assigned(let partitions) = event else { continue }
        queues = partitions.map { consumer.openQueue($0, wakeup: Wakeup()) }
        let ends = try admin.watermarks(partitions, timeoutMilliseconds: 30_000)
          .map { $0[keyPath: place] }
        try consumer.assign(zip(partitions, ends).map { PartitionStart($0, offset: $1) })
        let requests = zip(partitions, ends).map { CommitRequest($0, offset: $1) }
        return try consumer.commit(requests).allSatisfy { $0.error == nil }
      }
      return false
    }
    try #require(isDone)
  }
}
