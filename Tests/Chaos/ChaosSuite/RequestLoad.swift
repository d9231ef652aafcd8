// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Waiting

/// Produces generated requests at a rate until it is stopped.
final class RequestLoad {
  private let feeder: DemoFeeder
  private let line: GeneratedLine
  /// Requests per second from now on.
  var perSecond: Int {
    didSet { (begin, given, milliseconds) = (MonotonicClock.milliseconds(), 0, elapsed) }
  }
  /// Whether producing is paused.
  var isPaused = false {
    didSet { (begin, given, milliseconds) = (MonotonicClock.milliseconds(), 0, elapsed) }
  }
  private var begin = MonotonicClock.milliseconds()
  private var given = 0
  private var isRunning = true

  init(
    _ kafka: KafkaConfiguration, _ names: TopicNames, _ generator: DemoGenerator, perSecond: Int
  ) throws {
    let line = GeneratedLine(generator)
    self.line = line
    self.perSecond = perSecond
    feeder = try DemoFeeder(kafka, names) { line.next() }
  }

  /// The number of requests that Kafka has acknowledged.
  var acknowledged: Int { feeder.acknowledged }
  /// Requests that Kafka has without a known offset.
  var unplaced: [(partition: Int32, text: [UInt8])] { feeder.unplaced }
  /// Whether Kafka has answered for every request.
  var isSettled: Bool { feeder.outstanding == 0 }
  var refused: [String] { feeder.refused.map { "line \($0.line): \($0.error)" } }
  private var milliseconds: UInt64 = 0
  /// The time for which requests have been produced, in seconds; at least one.
  var seconds: Double { max(1, Double(elapsed) / 1_000) }
  private var elapsed: UInt64 {
    milliseconds + (isRunning ? MonotonicClock.milliseconds() - begin : 0)
  }

  /// Produces what is due. After an outage at most one second's worth is made up for.
  func turn(_ ledger: DemoLedger) throws {
    guard isRunning, !isPaused else { return try feeder.turn(limit: 0, ledger) }
    let elapsed = MonotonicClock.milliseconds() - begin
    let due = Int(elapsed) * perSecond / 1_000 - given
    let limit = min(max(due, 0), perSecond)
    given += due > perSecond ? due : limit
    try feeder.turn(limit: limit, ledger)
  }

  func stop() {
    guard isRunning else { return }
    milliseconds = elapsed
    isRunning = false
  }

  func close() { feeder.close() }
}

/// The generator's newest line, in place until the next one.
private final class GeneratedLine {
  private var generator: DemoGenerator
  private var space = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)

  init(_ generator: DemoGenerator) { self.generator = generator }

  deinit { space.deallocate() }

  func next() -> UnsafeRawBufferPointer {
    let text = Array(generator.next().utf8)
    space.deallocate()
    space = .allocate(byteCount: text.count, alignment: 1)
    space.copyBytes(from: text)
    return UnsafeRawBufferPointer(space)
  }
}
