// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import Kafka

/// One row: a broker, its producer and the member processes.
struct Experiment {
  let partitions: Int
  let style: QueueStyle
  let quick: Bool
  private let folder = "/tmp/queue-experiment-\(getpid())"

  init(partitions: Int, style: QueueStyle, quick: Bool) {
    self.partitions = partitions
    self.style = style
    self.quick = quick
  }

  func run() throws -> Row {
    KafkaLog.silence()
    mkdir(folder, 0o700)
    defer {
      for name in ["drain", "first", "second"] { unlink("\(folder)/\(name)") }
      rmdir(folder)
    }
    var row = Row()
    row.partitions = partitions
    row.style = style
    try drain(&row)
    try handover(&row)
    return row
  }

  /// A backlog is held back for three seconds and then taken.
  private func drain(_ row: inout Row) throws {
    let broker = try EmbeddedBroker([KafkaTopicSpecification("backlog", partitions: partitions)])
    let total = quick ? 200_000 : 400_000
    var source = try Source(broker.bootstrap, "backlog")
    try source.produce(total)
    source.close()
    let member = try spawn(
      "drain", broker, topic: "backlog", ["--expect", "\(total)", "--hold", "3000"])
    let report = try wait(member, "drain")
    row.heldMegabytes = Double(report.heldKilobytes) / 1024
    row.peakMegabytes = Double(report.peakKilobytes) / 1024
    row.recordsPerSecond = Double(total) / (Double(report.drainMicroseconds) / 1e6)
    row.microseconds = Double(report.cpuMicroseconds) / Double(total)
    row.untaken += total - Set(report.taken).count
  }

  /// Records are produced all the while; the second member comes, then the first goes.
  private func handover(_ row: inout Row) throws {
    let broker = try EmbeddedBroker([KafkaTopicSpecification("live", partitions: partitions)])
    var source = try Source(broker.bootstrap, "live")
    let rate = 20_000
    let duty = ["--duty", "300"]
    let first = try spawn("first", broker, topic: "live", duty)
    try source.produce(rate * 5, atRate: rate)
    let second = try spawn("second", broker, topic: "live", duty)
    try source.produce(rate * (quick ? 7 : 10), atRate: rate)
    kill(first, SIGTERM)
    try source.produce(rate * (quick ? 7 : 10), atRate: rate)
    let end = MonotonicClock.milliseconds()
    try waitUntilCommitted(broker, source.produced)
    row.catchUp = Int(MonotonicClock.milliseconds() - end)
    kill(second, SIGTERM)
    let reports = [try wait(first, "first"), try wait(second, "second")]
    let taken = reports.flatMap(\.taken)
    row.untaken += source.produced - Set(taken).count
    if row.untaken > 0 { try explainUntaken(broker, Set(taken), reports) }
    row.duplicates = taken.count - Set(taken).count
    row.letGo = reports.map(\.letGoMilliseconds).max() ?? 0
    row.stall = reports.map(\.stallMilliseconds).max() ?? 0
    row.droppedByBroker = try dropped(broker)
    source.close()
  }

  /// Says which records nobody took.
  private func explainUntaken(
    _ broker: EmbeddedBroker, _ taken: Set<UInt64>, _ reports: [MemberReport]
  ) throws {
    let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "check"))
    defer { admin.close() }
    for partition in 0..<Int32(partitions) {
      let name = TopicPartition(topic: "live", partition: partition)
      let high = try admin.watermarks(name, timeoutMilliseconds: 5_000).high
      let missing = (0..<high).filter { !taken.contains(UInt64(partition) << 48 | UInt64($0)) }
      guard let first = missing.first, let last = missing.last else { continue }
      let ends = reports.map { report in
        report.taken.filter { $0 >> 48 == UInt64(partition) }.map { $0 & 0xFFFF_FFFF_FFFF }.max()
      }
      print(
        "partition \(partition): \(missing.count) missing, \(first)…\(last) of \(high);",
        "first took to \(ends[0] ?? 0), second to \(ends[1] ?? 0)")
    }
  }

  private func waitUntilCommitted(_ broker: EmbeddedBroker, _ total: Int) throws {
    let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "check"))
    defer { admin.close() }
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: "live", partition: $0) }
    let deadline = MonotonicClock.milliseconds() + 40_000
    while MonotonicClock.milliseconds() < deadline {
      let offsets = try admin.groupOffsets("readers", all, timeoutMilliseconds: 5_000)
      if offsets.reduce(0, { $0 + ($1.offset ?? 0) }) >= Int64(total) { return }
      usleep(100_000)
    }
    print("the group did not catch up in 40 s")
  }

  /// How many records the broker's own limit dropped: the check would be void.
  private func dropped(_ broker: EmbeddedBroker) throws -> Int {
    let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "check"))
    defer { admin.close() }
    var count: Int64 = 0
    for partition in 0..<Int32(partitions) {
      let marks = try admin.watermarks(
        TopicPartition(topic: "live", partition: partition), timeoutMilliseconds: 5_000)
      count += marks.low
    }
    return Int(count)
  }

  private func spawn(
    _ name: String, _ broker: EmbeddedBroker, topic: String, _ extra: [String]
  ) throws -> pid_t {
    let arguments =
      [CommandLine.arguments[0], "member", "--bootstrap", broker.bootstrap, "--topic", topic]
      + [
        "--style", style.rawValue, "--partitions", "\(partitions)", "--verbose",
        CommandLine.arguments.contains("--verbose") ? "yes" : "no", "--out", "\(folder)/\(name)",
      ]
      + extra
    var pid = pid_t()
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    let code = posix_spawn(&pid, "/proc/self/exe", nil, nil, &pointers, environ)
    guard code == 0 else { throw SystemError(code: code, attempt: "cannot start a member") }
    return pid
  }

  private func wait(_ pid: pid_t, _ name: String) throws -> MemberReport {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    if status != 0 { print("member \(name) ended with status \(status)") }
    return MemberReport(decoding: try File.read("\(folder)/\(name)", limit: 1 << 30))
  }
}

/// Produces numbered records of 300 bytes, at a rate or as fast as they are taken.
struct Source {
  private(set) var produced = 0
  private let producer: KafkaProducer
  private let topic: KafkaTopic
  private var deliveries: [Delivery] = []
  private var value: [UInt8]

  init(_ bootstrap: String, _ topic: String) throws {
    var configuration = KafkaConfiguration(bootstrap: bootstrap, clientID: "source")
    configuration.producer = [("linger.ms", "10")]
    producer = try KafkaProducer(configuration)
    self.topic = try producer.topic(named: topic)
    let body = #"{"aps":{"alert":{"title":"Avocado bacon burger","body":"on sale"},"badge":1}}"#
    value = Array((body + body + body + body).utf8.prefix(300))
  }

  mutating func produce(_ count: Int, atRate rate: Int = 0) throws {
    let start = MonotonicClock.milliseconds()
    for index in 0..<count {
      var number = produced
      withUnsafeMutableBytes(of: &number) { key in
        value.withUnsafeBytes { value in
          while case .full = producer.produce(topic, key: .init(key), value: value, tag: 0) {
            drain()
            usleep(1_000)
          }
        }
      }
      produced += 1
      guard index % 200 == 0 else { continue }
      drain()
      while rate > 0 && MonotonicClock.milliseconds() - start < UInt64(index * 1_000 / rate) {
        usleep(1_000)
      }
    }
    guard producer.flush(timeoutMilliseconds: 20_000) else {
      throw KafkaError(code: -185, message: "the broker does not answer")
    }
    drain()
  }

  private mutating func drain() {
    producer.drainDeliveries(into: &deliveries)
    deliveries.removeAll(keepingCapacity: true)
  }

  func close() { producer.close() }
}
