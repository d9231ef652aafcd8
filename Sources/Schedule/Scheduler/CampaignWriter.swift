// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit

/// Writes the records of campaigns to Kafka, whose answers name them by `CampaignRunner.Tag`. Each method returns false
/// when the producer's queue is full. Owned by the scheduler's thread.
final class CampaignWriter {
  private let producer: TaggedProducer<SchedulerWorker.Tag>
  private let requests: KafkaTopic
  private let schedule: KafkaTopic
  private let controls: KafkaTopic
  /// The reason why the service must stop: Kafka will never take a record.
  private(set) var failure: ServiceFailure?

  init(_ producer: TaggedProducer<SchedulerWorker.Tag>, _ names: TopicNames) throws(KafkaError) {
    self.producer = producer
    requests = try producer.topic(names.campaignRequests)
    schedule = try producer.topic(names.schedule)
    controls = try producer.topic(names.controls)
  }

  /// The request to the devices of a page.
  func request(_ tokens: [UInt8], page: Int, of run: CampaignRun) -> Bool {
    write(requests, nil, run.record.request(tokens: tokens), of: run, .request(page: page))
  }

  /// The campaign's record.
  func progress(of run: CampaignRun) -> Bool {
    write(schedule, "\(run.record.key)", run.record.value, of: run, .progress)
  }

  /// The pace of the campaign's requests; nil removes it.
  func pace(_ pace: PaceRate?, of run: CampaignRun, now: Int64) -> Bool {
    let author = ControlRecord.Author(at: now, by: run.record.by, reason: "\(run.record.key)")
    return write(
      controls, run.paceSubject.key, pace.map { ControlRecord.value($0, by: author) }, of: run,
      .pace)
  }

  /// The control of the campaign's pushes; nil removes it.
  func control(_ value: [UInt8]?, _ headers: [KafkaHeader] = [], of run: CampaignRun) -> Bool {
    run.isControlled = write(controls, "\(run.record.key)", value, headers, of: run, .control)
    return run.isControlled
  }

  /// The removal of the campaign's record.
  func end(of run: CampaignRun) -> Bool {
    let header = KafkaHeader(ScheduleRecord.endsHeader, "\(run.identity)")
    return write(schedule, "\(run.record.key)", nil, [header], of: run, .end)
  }

  private func write(
    _ topic: KafkaTopic, _ key: String?, _ value: [UInt8]?, _ headers: [KafkaHeader] = [],
    of run: CampaignRun, _ kind: CampaignRunner.Tag.Kind
  ) -> Bool {
    do throws(KafkaError) {
      return try producer.produce(
        topic, key: key.map { Array($0.utf8) }, value: value, headers: headers,
        as: .campaign(.init(asker: run.asker, kind: kind)))
    } catch {
      failure = failure ?? ServiceFailure("\(error)")
      return false
    }
  }
}
