// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Store

/// One run of the demo: starts the pipeline, produces the requests, follows the output, and audits everything.
final class DemoRun {
  /// The time without new output after which the totals are final, and the interval between checks, in milliseconds.
  private static let quietMilliseconds: UInt64 = 400
  /// The bytes of requests that may wait for the end of the load before they are added to the ledger.
  private static let mostBytes = 128 << 20
  /// The time without progress after which the run ends, in milliseconds.
  private static let stallMilliseconds: UInt64 = 30_000

  private let settings: DemoCommand.Settings
  private let place: DemoSetup
  private let context: ServiceContext
  private let pipeline: LocalPipeline
  private let ledger = DemoLedger()
  private var progress = ProgressLine("demo", unit: "outcomes")
  private var hasKilled = false
  /// Remarks for the reader of the result.
  private(set) var remarks: [String] = []

  init(_ settings: DemoCommand.Settings, _ place: DemoSetup, _ context: ServiceContext) throws {
    self.settings = settings
    self.place = place
    self.context = context
    var plan = LocalPipeline.Plan(folder: place.folder, credentials: place.credentials)
    plan.senders = settings.senders
    plan.kafka = settings.kafka?.bootstrap
    plan.kafkaFlags = settings.kafkaFlags
    plan.tokenKey = settings.tokenKey
    plan.topicPrefix = place.names.prefix
    // One loop per sender, because the machine is shared with a broker, a gateway and everything else.
    plan.extra["martlet-sender"] = ["--loops", "1"]
    // The audit reads which requests came, not their header fields and bodies.
    plan.extra["apns-simulator"] = ["--record-details", "0"]
    // A day's invalid devices within a minute must not count as a wave here.
    plan.extra["martlet-feedback"] = ["--bad-token-limit", "10000000"]
    pipeline = try LocalPipeline(plan, log: context.log)
  }

  func run() throws -> DemoReport {
    context.log(LabLog.starting, ["processes": "\(5 + settings.senders)", "folder": place.folder])
    try pipeline.start()
    defer { pipeline.stop() }
    let gateway = DemoGateway(address: pipeline.gatewayAdmin)
    try gateway.declare(place.unregistered, since: WallClock.milliseconds())
    // The measurement covers the pipeline, not its start.
    guard try pipeline.waitUntilReady(context) else {
      throw context.signals.interrupted("not every request was followed to its end")
    }
    let readers = try DemoReaders(kafka, place.names)
    defer { readers.close() }
    try follow(readers)
    return try audit(readers, gateway)
  }

  private var kafka: KafkaConfiguration {
    settings.kafka ?? KafkaConfiguration(bootstrap: pipeline.kafka, clientID: "martlet-demo")
  }

  /// Produces and follows until everything is accounted for, or nothing happens any more.
  private func follow(_ readers: DemoReaders) throws {
    let lines = try LineSource(place.requests)
    let feeder = try DemoFeeder(kafka, place.names, mostBytes: Self.mostBytes) { try lines.next() }
    defer { feeder.close() }
    var lastNews = MonotonicClock.milliseconds()
    var nextLook = lastNews
    while true {
      guard !context.signals.isStopping else {
        throw context.signals.interrupted("not every request was followed to its end")
      }
      let fed = feeder.acknowledged
      if !feeder.isDone { try feeder.turn(limit: 1_000, ledger) }
      let hasNews = readers.turn(ledger) || feeder.acknowledged > fed
      let now = MonotonicClock.milliseconds()
      if hasNews { lastNews = now }
      show(feeder, readers, lines.fraction)
      killOnce(feeder, readers, fed: lines.fraction)
      if feeder.isDone, now - lastNews >= Self.quietMilliseconds, now >= nextLook {
        feeder.settle(ledger)
        readers.settle(ledger)
        if try isComplete(readers) { break }
        try pipeline.checkProcesses()
        nextLook = now + Self.quietMilliseconds
      }
      if now - lastNews >= Self.stallMilliseconds {
        remarks.append("gave up: nothing happened for \(Self.stallMilliseconds / 1_000) s")
        break
      }
    }
    progress.end()
    if !feeder.unplaced.isEmpty {
      remarks.append(
        "\(feeder.unplaced.count) requests are in Kafka at unknown positions: not followed")
    }
    if settings.killsSender, !hasKilled {
      remarks.append("the run ended before a sender was killed")
    }
    for (line, error) in feeder.refused { remarks.append("line \(line) was refused: \(error)") }
  }

  private func isComplete(_ readers: DemoReaders) throws -> Bool {
    try ledger.missing == 0 && readers.receiptCount >= readers.laneRecords()
  }

  private func show(_ feeder: DemoFeeder, _ readers: DemoReaders, _ fed: Double?) {
    let kinds = Outcome.allCases.compactMap { outcome -> String? in
      let count = readers.outcomes[Int(outcome.rawValue)]
      return count > 0 ? "\(count) \(outcome)" : nil
    }
    progress.update(
      count: readers.receiptCount,
      fraction: Self.fraction(
        fed: fed, asked: ledger.askedCount, answered: readers.receiptCount + ledger.deadLetterCount),
      note: (["\(feeder.acknowledged) requests"] + kinds).joined(separator: ", "))
  }

  /// The finished part of the run: the share of the requests that are in Kafka, and of their notifications that have an
  /// outcome. nil when all have one: what remains is waiting for repeats and comparing reports, which cannot be
  /// measured.
  ///
  /// - Parameter fed: The share of the requests in Kafka; nil if their number is unknown.
  static func fraction(fed: Double?, asked: Int, answered: Int) -> Double? {
    guard let fed, asked > 0, answered < asked || fed < 1 else { return nil }
    return fed * Double(min(answered, asked)) / Double(asked)
  }

  /// Whether half of the requests are read, however many there are, and outcomes follow those that Kafka has.
  ///
  /// - Parameter fed: The share of the requests that was read; nil if their number is unknown.
  static func isHalfway(fed: Double?, requests: Int, outcomes: Int) -> Bool {
    requests > 0 && (fed ?? 1) > 0.5 && outcomes > requests / 5
  }

  /// With `--kill-sender`: kills a sender when half of the requests are in and outcomes are coming.
  private func killOnce(_ feeder: DemoFeeder, _ readers: DemoReaders, fed: Double?) {
    guard settings.killsSender, !hasKilled,
      Self.isHalfway(fed: fed, requests: feeder.acknowledged, outcomes: readers.receiptCount)
    else { return }
    hasKilled = true
    let name = pipeline.senderNames[0]
    pipeline.processes.signal(name, SIGKILL)
    context.log(LabLog.processKilled, ["process": name])
  }

  /// The devices that feedback wrote down as invalid.
  private func recordedTokens() throws -> Set<DemoGateway.Device> {
    guard File.exists(pipeline.database) else { return [] }
    let invalid = try TokenStoreReader(pipeline.database).invalidDevices()
    return Set(invalid.map { DemoGateway.Device(token: $0.device.token, app: $0.device.app) })
  }

  /// Compares all reports and waits for a while until the database has caught up.
  private func audit(_ readers: DemoReaders, _ gateway: DemoGateway) throws -> DemoReport {
    let expected = try gateway.report(into: ledger)
    let deadline = MonotonicClock.milliseconds() + 15_000
    var recorded = try recordedTokens()
    while recorded != expected, MonotonicClock.milliseconds() < deadline {
      usleep(100_000)
      recorded = try recordedTokens()
    }
    var report = DemoReport()
    report.totals = ledger.totals
    report.notifications = try readers.laneRecords() + report.totals.suppressed
    report.deadLetters = ledger.deadLetters
    report.invalidTokensExpected = expected.count
    report.invalidTokensRecorded = recorded.count
    report.invalidTokensDiffering = expected.symmetricDifference(recorded).count
    report.latency = readers.latency
    report.milliseconds = max(0, readers.lastOutcome &- readers.firstCreated)
    if readers.firstCreated == .max { report.milliseconds = 0 }
    if report.totals.lost > 0 {
      let text = ledger.lostLines.joined(separator: "\n") + "\n"
      try File.write("\(place.folder)/lost.txt", Array(text.utf8))
    }
    if readers.missed > 0 {
      remarks.append("\(readers.missed) records were removed before they were read")
    }
    if readers.unreadable > 0 { remarks.append("\(readers.unreadable) records are unreadable") }
    return report
  }
}
