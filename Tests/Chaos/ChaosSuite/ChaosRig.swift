// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import Kafka
import LabCommand
import Records
import ServiceKit
import Waiting

/// A pipeline of real processes under load, the faults for it, and all that observes it.
final class ChaosRig {
  let options: ChaosOptions
  let place: ScenarioSetup
  let pipeline: LocalPipeline
  let auditor = Auditor()
  let log: Logger
  var random: SeededGenerator
  /// The number of faults so far, of any kind.
  var faults = 0 { didSet { faultTimes.append(WallClock.milliseconds()) } }
  /// The time of each fault, in milliseconds since the epoch.
  private(set) var faultTimes: [Int64] = []
  /// The current turn of the scenario and the number of turns, for the progress line.
  private var turn = (number: 0, of: 0)
  /// The longest time from the end of a fault until all earlier requests were accounted for, in milliseconds.
  private(set) var slowestRecovery: UInt64 = 0
  private(set) var problems: [String] = []
  private(set) var memory = MemoryWatch()

  private(set) var readers: TopicReaders!
  private(set) var load: RequestLoad!
  private(set) var checkpoints: OffsetCheckpoint!
  private(set) var kafka: KafkaConfiguration!
  /// The base URL of the embedded broker's fault API; empty on a real cluster.
  private var brokerControl = ""
  private let hasStragglers: Bool
  private let mayWaitLong: Bool
  private let http = HTTPClient(timeoutMilliseconds: 30_000)
  private var gateway: DemoGateway!
  /// The exit statuses that each process must have had so far, in order.
  var expectedEndings: [String: [Int32]] = [:]
  /// The databases of the running feedback processes.
  lazy var databases = [pipeline.database]
  /// The names of all senders that have ever run.
  var allSenders: [String] {
    let others = ["broker", "simulator", "signer", "ingest"]
    return pipeline.processes.states.map(\.name).filter {
      !others.contains($0) && !$0.hasPrefix("feedback") && !$0.hasPrefix("scheduler")
    }
  }
  /// The number of requests already read from the list of the current gateway process.
  private var gatewaySeen = 0

  init(_ options: ChaosOptions, _ scenario: Scenario, _ log: Logger) throws {
    self.options = options
    self.log = log
    hasStragglers = scenario.hasStragglers
    mayWaitLong = scenario.mayWaitLong
    random = SeededGenerator(seed: options.seed &* 31 &+ UInt64(scenario.name.utf8.count))
    place = try ScenarioSetup(options, scenario, log)
    pipeline = try LocalPipeline(place.plan(options, scenario), log: log)
  }

  var isEmbedded: Bool { options.kafka == nil }
  var senders: [String] { pipeline.senderNames }
  var isStopping: Bool { options.signals.isStopping }

  // MARK: The run

  /// Starts everything, and the load once every consumer has its partitions.
  func start() throws {
    try pipeline.start()
    if isEmbedded { brokerControl = try faultInterface() }
    gateway = DemoGateway(address: pipeline.gatewayAdmin)
    if hasStragglers {
      try addGatewayFaults([
        [
          "id": "added_latency", "profile": "constant", "time": "700ms",
          "when": ["probability": 0.02],
        ]
      ])
    }
    let configuration = KafkaConfiguration(bootstrap: pipeline.kafka, clientID: "martlet-chaos")
    kafka = configuration
    readers = try TopicReaders(configuration, place.names)
    checkpoints = try OffsetCheckpoint(configuration, place.names)
    try awaitMembers()
    load = try RequestLoad(configuration, place.names, place.generator, perSecond: options.rate)
  }

  /// The address of the embedded broker's fault API, which it logs before its own address.
  private func faultInterface() throws -> String {
    let text = logText("broker")
    guard let line = text.firstRange(of: "\(LabLog.faultInterface.rawValue) url=") else {
      throw ServiceFailure("the broker does not say where it takes faults")
    }
    return String(text[line.upperBound...].prefix { !$0.isWhitespace })
  }

  private func awaitMembers() throws {
    let members =
      ["ingest", "feedback"] + (pipeline.plan.hasScheduler ? ["scheduler"] : []) + senders
    let deadline = MonotonicClock.milliseconds() + 120_000
    while !members.allSatisfy({ occurrences($0, ServiceKitLog.partitionsAssigned) > 0 }) {
      guard !isStopping else { throw ServiceFailure("stopped") }
      guard MonotonicClock.milliseconds() < deadline else {
        throw ServiceFailure("not every process has its partitions after 120 s")
      }
      usleep(20_000)
    }
  }

  func logText(_ name: String) -> String { (try? File.text(pipeline.logFile(name))) ?? "" }

  /// Counts from 0, and reports the progress with each fault.
  func turns(_ count: Int) -> some Sequence<Int> {
    (0..<count).lazy.map { [self] number in
      turn = (number + 1, count)
      return number
    }
  }

  /// Makes one fault per turn, after a random time of load between the two in milliseconds and a comparison of offsets.
  /// A turn ends when everything produced before its fault is accounted for.
  func turns(
    afterBetween least: UInt64, and most: UInt64, fault: (_ turn: Int) throws -> Void
  ) throws {
    for number in turns(options.kills) {
      try pump(between: least, and: most)
      compareOffsets()
      let before = mark()
      try fault(number)
      try awaitRecovery(of: before)
    }
  }

  /// Logs a fault and the progress of the run.
  func recordFault(_ text: String) {
    log(
      ChaosLog.fault,
      [
        "what": text, "turn": "\(turn.number) of \(turn.of)", "requests": "\(mark())",
        "open": "\(auditor.ledger.missing)",
      ])
  }

  /// Compares committed offsets and offset maps with what is known now; skipped if Kafka does not respond.
  func compareOffsets() { checkpoints.take(readers, auditor, attempts: 1) }

  /// Produces, reads and observes for a while.
  func pump(_ milliseconds: UInt64) throws { _ = try pump(until: { false }, within: milliseconds) }

  /// Produces, reads and observes until a condition holds; returns false if time runs out before.
  func pump(until condition: () throws -> Bool, within milliseconds: UInt64) throws -> Bool {
    let deadline = MonotonicClock.milliseconds() + milliseconds
    while true {
      guard !isStopping else { throw ServiceFailure("stopped") }
      try load?.turn(auditor.ledger)
      if !readers.turn(auditor) { usleep(2_000) }
      memory.look(pipeline.processes.states)
      if try condition() { return true }
      if MonotonicClock.milliseconds() >= deadline { return false }
    }
  }

  /// The same for a condition that costs something: it is asked once in so many milliseconds.
  func pump(
    every interval: UInt64, until condition: () throws -> Bool, within milliseconds: UInt64
  ) throws -> Bool {
    var nextLook: UInt64 = 0
    return try pump(
      until: {
        let now = MonotonicClock.milliseconds()
        guard now >= nextLook else { return false }
        nextLook = now + interval
        return try condition()
      }, within: milliseconds)
  }

  /// Pumps for a random time between the two, in milliseconds.
  func pump(between least: UInt64, and most: UInt64) throws {
    try pump(least + random.next() % (most - least + 1))
  }

  func problem(_ text: String) {
    log(ChaosLog.problem, ["problem": text])
    problems.append(text)
  }

  // MARK: Recovery

  /// The number of requests so far, as a reference for recovery.
  func mark() -> Int { auditor.ledger.requestCount }

  /// Waits until everything produced before `mark` is accounted for. The time starts now.
  func awaitRecovery(of mark: Int, within milliseconds: UInt64? = nil) throws {
    let begin = MonotonicClock.milliseconds()
    let limit = milliseconds ?? options.livenessMilliseconds
    let isSettled = try pump(until: { settledRequests() >= mark }, within: limit)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    guard !isSettled else { return }
    problem("not recovered within \(limit / 1_000) s")
    if let first = auditor.ledger.firstUnsettled {
      problem("  the first open request is \(first.partition)/\(first.offset)")
      let open = first.ids.filter { auditor.ledger[$0]?.isAccountedFor != true }
      for id in open.prefix(5) { problem("    \(auditor.describe(id))") }
    }
  }

  private func settledRequests() -> Int {
    mayWaitLong
      ? auditor.ledger.settledRequests(auditor.waitsLong) : auditor.ledger.settledRequests()
  }

  /// Waits until the database contains every device that the gateway has reported as unregistered so far.
  func awaitDatabase() throws {
    try readGateway()
    let tables = TableAudit(kafka, place.names)
    let begin = MonotonicClock.milliseconds()
    let isDone = try pump(
      every: 100,
      until: {
        let devices = try? tables.invalidDifferences(databases, auditor.invalid)
        return devices?.missing == 0
      }, within: options.livenessMilliseconds)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    if !isDone { problem("the database has not caught up") }
  }

  /// Stops the load and waits until everything is accounted for.
  func settle() throws {
    load.stop()
    let begin = MonotonicClock.milliseconds()
    var nextLook: UInt64 = 0
    let isAnswered = try pump(until: { load.isSettled }, within: options.livenessMilliseconds)
    if !isAnswered { problem("Kafka has not answered for every request") }
    let lost = try TableAudit(kafka, place.names).place(load.unplaced, in: auditor.ledger)
    if lost > 0 { problem("\(lost) requests are not where Kafka says they are") }
    func nothingIsOpen() -> Bool {
      let now = MonotonicClock.milliseconds()
      guard now >= nextLook else { return false }
      nextLook = now + 500
      return auditor.ledger.missing == 0 && readers.openRecords(auditor) == 0
    }
    var isSettled = try pump(until: nothingIsOpen, within: options.livenessMilliseconds)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    if !isSettled { isSettled = try awaitLongest(until: nothingIsOpen) }
    if !isSettled {
      problem(
        "after \(options.livenessMilliseconds / 1_000) s without a fault \(auditor.ledger.missing)"
          + " notifications and \(readers.openRecords(auditor)) records are still open")
    }
    // The last to arrive: dead letters of malformed records, and feedback's results for the gateway's responses.
    _ = try pump(until: { auditor.undigested.isEmpty }, within: 60_000)
    try awaitDatabase()
    try pump(500)
  }

  /// Waits for notifications on the 15-minute topic, if a scenario may produce any there.
  private func awaitLongest(until isDone: () -> Bool) throws -> Bool {
    guard mayWaitLong, let due = auditor.lastDue else { return false }
    let rest = max(0, due - WallClock.milliseconds())
    log(ChaosLog.longWait, ["seconds": "\(rest / 1_000)"])
    return try pump(until: isDone, within: UInt64(rest) + options.livenessMilliseconds)
  }

  /// Ends the memory watch, and reports what grew.
  func finishMemory() {
    memory.finish()
    for text in memory.growths { problem(text) }
  }

  // MARK: Broker and gateway

  /// Controls the embedded broker's faults.
  func broker(_ method: String, _ path: String, _ body: JSONValue) throws {
    let answer =
      method == "PUT"
      ? try http.put(brokerControl + path, body.text)
      : try http.post(brokerControl + path, body.text)
    guard answer.status == 200 else {
      throw ServiceFailure("the broker answers \(answer.status): \(answer.text)")
    }
  }

  /// Adds fault rules to the gateway.
  func addGatewayFaults(_ rules: JSONValue) throws { try gateway.addFaults(["rules": rules]) }

  /// The number of connections that clients have opened to the gateway so far, including refused ones.
  func connects() throws -> Int { try gateway.connectionCount() }

  func clearGatewayFaults() throws { try gateway.clearFaults() }

  /// Waits for the restart of a killed gateway, which is delayed by a growing back-off.
  func awaitGateway() throws {
    let isUp = try pump(until: { gateway.answers }, within: 60_000)
    if !isUp { problem("the gateway did not come back within 60 s") }
  }

  /// Reads what the gateway has recorded since the last call.
  func readGateway() throws {
    try awaitGateway()
    let skipped = gatewaySeen
    nonisolated(unsafe) var index = 0
    let auditor = auditor
    try gateway.forEachRequest { request in
      if index >= skipped { auditor.gatewaySaw(request) }
      index += 1
    }
    gatewaySeen = index
  }

  /// Calls `body` with everything that the gateway has recorded, including what was read before.
  func forEachGatewayRequest(_ body: @escaping (GatewayRequest) -> Void) throws {
    try awaitGateway()
    try gateway.forEachRequest(body)
  }

  /// Kills the gateway. Its list is lost with it, so its responses since the last call are unknown.
  func killGateway() throws {
    try awaitGateway()
    let begin = WallClock.milliseconds()
    try readGateway()
    try kill("simulator")
    gatewaySeen = 0
    auditor.gatewayWasBlind(begin...WallClock.milliseconds() + 1_000)
  }

  func close() {
    load?.close()
    readers?.close()
    checkpoints?.close()
    pipeline.stop()
  }
}
