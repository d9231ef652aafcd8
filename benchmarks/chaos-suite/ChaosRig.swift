// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import HTTPClient
import JSON
import Kafka
import OperatorCommand
import Pipeline
import ServiceKit

/// A pipeline of real processes under load, the moves against it, and everything that watches it.
final class ChaosRig {
  let options: ChaosOptions
  let place: ChaosPlace
  let pipeline: LocalPipeline
  let auditor = Auditor()
  let log: Logger
  var random: SeededRandom
  /// Faults that were made, of whatever kind.
  private(set) var faults = 0
  /// The longest time from a fault's end until all requests before it were accounted for, in milliseconds.
  private(set) var slowestRecovery: UInt64 = 0
  private(set) var problems: [String] = []
  private(set) var memory = MemoryWatch()

  private(set) var readers: TopicReaders!
  private(set) var load: RequestLoad!
  private(set) var checkpoints: OffsetCheckpoint!
  private(set) var kafka: KafkaConfiguration!
  private let brokerControl: String
  private let producesOneAtATime: Bool
  private let http = HTTPClient(timeoutMilliseconds: 5_000)
  private var gateway: DemoGateway!
  /// How each process must have ended so far, in order: what we did to it.
  private var expectedEndings: [String: [Int32]] = [:]
  /// Requests of the gateway's list that were read before, of its present process.
  private var gatewaySeen = 0

  init(_ options: ChaosOptions, _ scenario: Scenario, _ log: Logger) throws {
    self.options = options
    self.log = log
    producesOneAtATime = scenario.producesOneAtATime
    random = SeededRandom(seed: options.seed &* 31 &+ UInt64(scenario.name.utf8.count))
    place = try ChaosPlace(options, scenario, log)
    let port = try LocalPipeline.freePort()
    brokerControl = "http://127.0.0.1:\(port)"
    pipeline = try LocalPipeline(
      place.plan(options, scenario, brokerControl: "127.0.0.1:\(port)"), log: log)
  }

  var isEmbedded: Bool { options.kafka == nil }
  var senders: [String] { pipeline.senderNames }
  var isStopping: Bool { options.signals.isStopping }

  // MARK: The run

  /// Starts everything, and the load once every reader has its partitions.
  func start() throws {
    try pipeline.start()
    gateway = DemoGateway(address: pipeline.gatewayAdmin)
    var configuration = KafkaConfiguration(bootstrap: pipeline.kafka, clientID: "martlet-chaos")
    configuration.isEmbeddedBroker = isEmbedded
    if producesOneAtATime {
      configuration.producer.append(("max.in.flight.requests.per.connection", "1"))
    }
    kafka = configuration
    readers = try TopicReaders(configuration, place.names)
    checkpoints = try OffsetCheckpoint(configuration, place.names)
    try awaitMembers()
    load = try RequestLoad(
      configuration, place.names, place.generator, perSecond: options.rate)
  }

  private func awaitMembers() throws {
    let members = ["ingest", "feedback"] + senders
    let deadline = MonotonicClock.milliseconds() + 60_000
    while !members.allSatisfy({ logText($0).contains("assigned") }) {
      guard !isStopping else { throw ServiceFailure("stopped") }
      guard MonotonicClock.milliseconds() < deadline else {
        throw ServiceFailure("not every process has its partitions after 60 s")
      }
      usleep(20_000)
    }
  }

  func logText(_ name: String) -> String {
    (try? File.read(pipeline.logFile(name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Feeds, reads and watches for a while.
  func pump(_ milliseconds: UInt64) throws { _ = try pump(until: { false }, within: milliseconds) }

  /// Feeds, reads and watches until something holds; false when the time is up before.
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

  /// A random time between the two, in milliseconds.
  func pump(between least: UInt64, and most: UInt64) throws {
    try pump(least + random.next() % (most - least + 1))
  }

  func problem(_ text: String) {
    log.error(text)
    problems.append(text)
  }

  // MARK: Recovery

  /// How far requests have got: what a recovery is measured against.
  func mark() -> Int { auditor.ledger.requestCount }

  /// Waits until everything that was produced before `mark` is accounted for. The time counts from now.
  func awaitRecovery(of mark: Int, within milliseconds: UInt64? = nil) throws {
    let begin = MonotonicClock.milliseconds()
    let limit = milliseconds ?? options.livenessMilliseconds
    let isSettled = try pump(
      until: { auditor.ledger.settledRequests() >= mark }, within: limit)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    guard !isSettled else { return }
    problem("not recovered within \(limit / 1_000) s")
    if let first = auditor.ledger.firstUnsettled {
      problem("  the first open request is \(first.partition)/\(first.offset)")
      let open = first.ids.filter { auditor.ledger[$0]?.isAccountedFor != true }
      for id in open.prefix(5) { problem("    \(auditor.describe(id))") }
    }
  }

  /// Waits until the database knows every device that the gateway has called unregistered so far.
  func awaitDatabase() throws {
    try readGateway()
    let tables = TableAudit(kafka, place.names)
    let begin = MonotonicClock.milliseconds()
    var nextLook: UInt64 = 0
    let isDone = try pump(
      until: {
        let now = MonotonicClock.milliseconds()
        guard now >= nextLook else { return false }
        nextLook = now + 100
        let devices = try? tables.unregisteredDifferences(pipeline.database, auditor.unregistered)
        return devices?.missing == 0
      }, within: options.livenessMilliseconds)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    if !isDone { problem("the database has not caught up") }
  }

  /// Stops the load and waits until nothing is open any more.
  func settle() throws {
    load.stop()
    let begin = MonotonicClock.milliseconds()
    var nextLook: UInt64 = 0
    let isAnswered = try pump(until: { load.isSettled }, within: options.livenessMilliseconds)
    if !isAnswered { problem("Kafka has not answered for every request") }
    let lost = try TableAudit(kafka, place.names).place(load.unplaced, in: auditor.ledger)
    if lost > 0 { problem("\(lost) requests are not where Kafka says they are") }
    let isSettled = try pump(
      until: {
        let now = MonotonicClock.milliseconds()
        guard now >= nextLook else { return false }
        nextLook = now + 500
        return auditor.ledger.missing == 0 && readers.openRecords(auditor) == 0
      }, within: options.livenessMilliseconds)
    slowestRecovery = max(slowestRecovery, MonotonicClock.milliseconds() - begin)
    if !isSettled {
      problem(
        "after \(options.livenessMilliseconds / 1_000) s without a fault \(auditor.ledger.missing)"
          + " notifications and \(readers.openRecords(auditor)) records are still open")
    }
    // What comes last: dead letters of poison, and what feedback makes of the gateway's answers.
    _ = try pump(until: { auditor.undigested.isEmpty }, within: 10_000)
    try awaitDatabase()
    try pump(500)
  }

  // MARK: Processes

  /// Kills a process with SIGKILL; it is started again.
  func kill(_ name: String) throws {
    try end(name, SIGKILL, 128 + SIGKILL)
  }

  /// Asks a process to end with SIGTERM, and waits for that; it is started again.
  func restart(_ name: String) throws {
    let before = pipeline.processes.state(name)?.endings.count ?? 0
    try end(name, SIGTERM, 0)
    let hasEnded = try pump(
      until: { pipeline.processes.state(name)?.endings.count ?? 0 > before }, within: 30_000)
    if !hasEnded { problem("\(name) did not end within 30 s of SIGTERM") }
  }

  private func end(_ name: String, _ signal: Int32, _ ending: Int32) throws {
    // It may still wait to be started again after the last time.
    let runs = try pump(until: { pipeline.processes.state(name)?.pid != nil }, within: 20_000)
    guard runs, pipeline.processes.signal(name, signal) else {
      return problem("\(name) does not run")
    }
    log.info("fault", ["signal": "\(signal)", "process": name])
    expectedEndings[name, default: []].append(ending)
    faults += 1
  }

  func signal(_ name: String, _ number: Int32) {
    log.info("fault", ["signal": "\(number)", "process": name])
    pipeline.processes.signal(name, number)
    if number != SIGCONT { faults += 1 }
  }

  /// Another fault than a signal was made.
  func countFault(_ text: String) {
    log.info("fault", ["what": text])
    faults += 1
  }

  /// Waits until a process says something that it did not say before, `count` times in all.
  func awaitLog(_ name: String, _ text: String, count: Int, within milliseconds: UInt64) throws
    -> Bool
  {
    try pump(until: { occurrences(name, text) >= count }, within: milliseconds)
  }

  func occurrences(_ name: String, _ text: String) -> Int {
    logText(name).split(separator: "\n").count { $0.contains(text) }
  }

  /// A process that was stopped on purpose for good; its end must be a clean one.
  func stopForGood(_ name: String) throws {
    expectedEndings[name, default: []].append(0)
    let states = pipeline.processes
    // The tree waits for the end: let the load go on meanwhile.
    let waiter = try LoopThread(name: "stop") { _ = states.stop(name, timeoutMilliseconds: 30_000) }
    let hasEnded = try pump(until: { states.state(name)?.pid == nil }, within: 31_000)
    waiter.join()
    if !hasEnded { problem("\(name) did not end within 30 s of SIGTERM") }
  }

  /// Compares how processes ended with what was done to them.
  func checkEndings() {
    for state in pipeline.processes.states {
      let expected = expectedEndings[state.name] ?? []
      guard state.endings != expected else { continue }
      problem("\(state.name) ended with \(state.endings) instead of \(expected)")
    }
  }

  /// Ends the watch over memory, and tells what grew.
  func finishMemory() {
    memory.finish()
    for text in memory.growths { problem(text) }
  }

  /// Stops the services, which must end cleanly; broker and gateway stay for the audit.
  func stopServices() {
    for state in pipeline.processes.states
    where state.pid != nil && state.name != "broker" && state.name != "simulator" {
      expectedEndings[state.name, default: []].append(0)
    }
    let killed = pipeline.processes.stop(stagesFrom: 2)
    for name in killed { problem("\(name) had to be killed at the end") }
  }

  // MARK: Broker and gateway

  /// Tells the embedded broker to misbehave.
  func broker(_ method: String, _ path: String, _ body: JSONValue) throws {
    let answer =
      method == "PUT"
      ? try http.put(brokerControl + path, body.text)
      : try http.post(brokerControl + path, body.text)
    guard answer.status == 200 else {
      throw ServiceFailure("the broker answers \(answer.status): \(answer.text)")
    }
  }

  /// Tells the gateway to misbehave.
  func addGatewayFaults(_ rules: JSONValue) throws { try gateway.addFaults(["rules": rules]) }

  func clearGatewayFaults() throws { try gateway.clearFaults() }

  /// Waits for a gateway that was killed: it is started again after a pause that grows.
  private func awaitGateway() throws {
    let isUp = try pump(until: { gateway.answers }, within: 30_000)
    if !isUp { problem("the gateway did not come back within 30 s") }
  }

  /// Reads what the gateway has recorded since the last time.
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

  /// Kills the gateway. Its list goes with it: what it answered between the last look and its end nobody
  /// knows any more.
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
