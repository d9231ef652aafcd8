// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Telemetry

/// Checks the lines of a source and produces them if there is an output topic.
///
/// Memory is limited by the producer's queue.
final class Importer {
  private static let reportedLines = 20

  private let source: LineSource
  private let file: String
  /// The destination; nil to only check lines.
  private let output: (producer: KafkaProducer, topic: KafkaTopic)?
  private let reader: RequestReader
  private let context: ServiceContext
  private var progress: ProgressLine?
  private var watch: WriteWatch?
  private var result = ImportResult()
  private var line = 0
  private var unusableShown = 0
  private let tokenDigits = UnsafeMutablePointer<UInt8>.allocate(
    capacity: DeviceToken.maximumDigits)

  init(
    _ source: LineSource, _ cluster: KafkaCluster?, _ settings: ImportCommand.Settings,
    _ context: ServiceContext, standstill: Standstill = Standstill()
  ) throws(ServiceFailure) {
    self.source = source
    file = settings.file
    reader = RequestReader(types: settings.pushTypes, lanes: settings.lanes)
    progress = settings.showsProgress ? ProgressLine("import", unit: "lines") : nil
    self.context = context
    watch = cluster.map {
      WriteWatch($0, [settings.cluster.names.requests], standstill: standstill)
    }
    do {
      output = try cluster.map { cluster in
        let producer = try KafkaProducer(cluster.configuration)
        return (producer, try producer.topic(known: settings.cluster.names.requests))
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  deinit { tokenDigits.deallocate() }

  func run() throws(ServiceFailure) -> ImportResult {
    let start = MonotonicClock.milliseconds()
    defer { end() }
    while !context.signals.isStopping, let bytes = try source.next() {
      line += 1
      if bytes.isEmpty { continue }
      result.lines += 1
      if source.isCut {
        try skipLine()
        continue
      }
      let key = usableKey(bytes)
      if let output { try produce(bytes, key: key, to: output.topic, output.producer) }
      if line % 64 == 0 {
        try drain()
        show("")
      }
    }
    result.wasStopped = context.signals.isStopping
    try finish()
    result.milliseconds = MonotonicClock.milliseconds() - start
    if unusableShown > Self.reportedLines {
      let rest = unusableShown - Self.reportedLines
      StandardError.line("… and \(rest) more invalid requests and tokens")
    }
    return result
  }

  /// What Kafka has, for the audit; after an error, too.
  var deed: String {
    "\(result.produced) requests from \(file)" + Audit.doubt(output?.producer.outstanding ?? 0)
  }

  /// Ends the client, after a short wait for answers if the import has failed.
  private func end() {
    guard let producer = output?.producer else { return }
    _ = producer.flush(timeoutMilliseconds: Audit.lastWait)
    takeDeliveries(of: producer)
    producer.close()
  }

  private func produce(
    _ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, to topic: KafkaTopic,
    _ producer: KafkaProducer
  ) throws(ServiceFailure) {
    while true {
      switch producer.produce(topic, key: key, value: bytes, tag: UInt(line)) {
      case .queued: return
      case .full:
        usleep(1_000)
        try drain()
        show("waiting for Kafka")
        if context.signals.isStopping { return }
      case .refused(let error): return refuse(line, error)
      }
    }
  }

  /// Returns the channel, first token or first user of a valid request; otherwise no key, and reports the line.
  private func usableKey(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    do throws(RequestError) {
      let request = try reader.read(bytes)
      try request.checkNamesDevice()
      if request.isBroadcast { return request.channel }
      noteInvalidTokens(of: request)
      if request.tokens.count > 0 { return request.tokens[0] }
      return request.users.first.map { UnsafeRawBufferPointer($0) }
        ?? UnsafeRawBufferPointer(start: nil, count: 0)
    } catch {
      result.unusable += 1
      report("line \(line) is not a valid request and will become a dead letter: \(error)")
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
  }

  /// Skips the rest of a line that is too long for a record: a piece of it would be another request.
  private func skipLine() throws(ServiceFailure) {
    // A check counts what would not be produced; of an import only what was produced can be invalid.
    if output == nil { result.unusable += 1 } else { result.refused += 1 }
    progress?.end()
    StandardError.line(
      "line \(line) has more than \(LineSource.longestLine) bytes, and no record holds as many")
    while source.isCut, try source.next() != nil {}
  }

  /// Each invalid token of a valid request becomes its own dead letter.
  private func noteInvalidTokens(of request: borrowing PushRequest) {
    for index in 0..<request.tokens.count {
      do throws(DeviceToken.Problem) {
        _ = try request.tokens.normalize(index, into: tokenDigits)
      } catch {
        result.invalidTokens += 1
        let place = request.tokenField == .tokens ? " (entry \(index + 1))" : ""
        let words = RequestError(request.tokenField, .token(error))
        report("line \(line): a token will become a dead letter: \(words)\(place)")
      }
    }
  }

  private func report(_ text: String) {
    unusableShown += 1
    guard unusableShown <= Self.reportedLines else { return }
    progress?.end()
    StandardError.line(TerminalText.plain(text))
  }

  private func refuse(_ line: Int, _ error: KafkaError) {
    result.refused += 1
    progress?.end()
    StandardError.line("line \(line) was not produced: \(error)")
  }

  private func takeDeliveries(of producer: KafkaProducer) {
    for delivery in producer.drainDeliveries() {
      if let error = delivery.refused {
        refuse(Int(delivery.tag), error)
      } else {
        result.produced += 1
      }
    }
  }

  private func drain() throws(ServiceFailure) {
    guard let producer = output?.producer else { return }
    takeDeliveries(of: producer)
    try watch?.look(producer.standing, &progress)
  }

  /// Waits for the acknowledgements of what was produced; a second stop signal ends the process anyway.
  private func finish() throws(ServiceFailure) {
    while let producer = output?.producer, producer.outstanding > 0 {
      _ = producer.flush(timeoutMilliseconds: 200)
      try drain()
      show("waiting for Kafka")
    }
    try drain()
    progress?.end()
  }

  private func show(_ note: String) {
    progress?.update(
      count: output == nil ? result.lines : result.produced, fraction: source.fraction, note: note)
  }
}
