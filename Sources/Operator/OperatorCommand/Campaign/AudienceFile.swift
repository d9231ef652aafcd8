// SPDX-License-Identifier: Apache-2.0
import Contract
import Glibc
import Kafka
import Records
import ServiceKit

/// A file of device tokens, one per line, to be written to `push.audiences`. The file is read twice, so that nothing is
/// written if a line is not a device token.
final class AudienceFile {
  private static let reportedLines = 20

  private let path: String
  private let context: ServiceContext
  private var progress: ProgressLine?
  private var watch: WriteWatch?

  init(_ path: String, showsProgress: Bool, _ context: ServiceContext) {
    (self.path, self.context) = (path, context)
    progress = showsProgress ? ProgressLine("tokens", unit: "tokens") : nil
  }

  // MARK: Checking

  /// Lists the lines that are not device tokens, and fails if there are any, or if the file has no tokens.
  func check() throws(ServiceFailure) {
    var (tokens, wrong) = (0, 0)
    try forEachLine { number, token in
      switch token {
      case .success: tokens += 1
      case .failure(let problem):
        wrong += 1
        if wrong <= Self.reportedLines { StandardError.line("line \(number): \(problem)") }
      }
      return true
    }
    if wrong > Self.reportedLines { StandardError.line("… and \(wrong - Self.reportedLines) more") }
    guard wrong == 0 else {
      throw ServiceFailure(
        "\(path) has \(wrong) lines that are no device token, named above; the campaign was not started"
      )
    }
    guard tokens > 0 else { throw ServiceFailure("\(path) has no device token") }
  }

  /// Reads the non-empty lines until `body` returns false.
  private func forEachLine(
    _ body: (Int, Result<[UInt8], DeviceToken.Problem>) throws(ServiceFailure) -> Bool
  ) throws(ServiceFailure) {
    let source = try LineSource(path) { [context] in context.signals.isStopping }
    guard source.totalBytes != nil else {
      throw ServiceFailure(
        "\(path) is no regular file, and is read twice: write the tokens to one; the campaign was not started"
      )
    }
    var number = 0
    while let line = try source.next() {
      if context.signals.isStopping { throw stopped }
      number += 1
      let text = line.bindMemory(to: UInt8.self).span
      if DeviceToken.trimmed(text).isEmpty { continue }
      var digits: [UInt8] = []
      let token = Result { () throws(DeviceToken.Problem) in
        if source.isCut { throw .tooLong(text.count) }
        try DeviceToken.append(text, to: &digits)
        return digits
      }
      guard try body(number, token) else { return }
      fraction = source.fraction
    }
  }

  private var fraction: Double?

  private var stopped: ServiceFailure {
    context.signals.interrupted("\(path) was not read to its end; the campaign was not started")
  }

  // MARK: Writing

  /// Writes the tokens for one start of a campaign, up to 1,000 per record, and waits for Kafka's acknowledgement.
  ///
  /// - Returns: The number of tokens.
  func write(
    _ topic: String, _ campaign: CampaignRecord, _ cluster: KafkaCluster
  ) throws(ServiceFailure) -> Int {
    defer { progress?.end() }
    watch = WriteWatch(cluster, [topic])
    return try orFail {
      let producer = try KafkaProducer(cluster.configuration)
      defer { producer.close() }
      let target = try producer.topic(known: topic)
      var (record, tokens, written) = ([UInt8](), 0, 0)
      func send() throws(ServiceFailure) {
        try produce(producer, target, campaign, record, tokens: written)
        record.removeAll(keepingCapacity: true)
      }
      try forEachLine { number, token throws(ServiceFailure) in
        guard case .success(let digits) = token else {
          throw ServiceFailure("\(path) has changed: line \(number) is no device token any more")
        }
        if !record.isEmpty { record.append(10) }
        record += digits
        tokens += 1
        if tokens - written == RequestRules.maximumTokens {
          written = tokens
          try send()
        }
        return true
      }
      if !record.isEmpty { try send() }
      while producer.outstanding > 0 {
        _ = producer.flush(timeoutMilliseconds: 200)
        try drain(producer)
        if context.signals.isStopping { throw stopped }
        progress?.update(count: tokens, fraction: fraction, note: "waiting for Kafka")
      }
      return tokens
    }
  }

  private func produce(
    _ producer: KafkaProducer, _ topic: KafkaTopic, _ campaign: CampaignRecord,
    _ value: [UInt8], tokens: Int
  ) throws(ServiceFailure) {
    let header = KafkaHeader("\(CampaignRecord.startHeader)", "\(campaign.at)")
    while true {
      try drain(producer)
      progress?.update(count: tokens, fraction: fraction)
      switch producer.produce(
        topic, key: Array("\(campaign.key)".utf8), value: value, headers: [header], tag: 0)
      {
      case .queued: return
      case .full: usleep(1_000)
      case .refused(let error): throw ServiceFailure("\(error); the campaign was not started")
      }
      if context.signals.isStopping { throw stopped }
    }
  }

  private func drain(_ producer: KafkaProducer) throws(ServiceFailure) {
    if let error = producer.drainDeliveries().lazy.compactMap(\.refused).first {
      throw ServiceFailure("\(error); the campaign was not started")
    }
    do throws(ServiceFailure) {
      try watch?.look(producer.standing, &progress)
    } catch {
      throw ServiceFailure("\(error); the campaign was not started")
    }
  }
}
