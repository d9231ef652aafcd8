// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import Kafka

/// What a member process is told.
struct MemberOptions {
  var bootstrap = ""
  var topic = ""
  var style = QueueStyle.partition
  var partitions = 1
  /// Prints the group's events.
  var isVerbose = false
  var out = ""
  /// Ends after that many records; 0: on SIGTERM.
  var expect = 0
  /// Takes nothing for so long after its first assignment.
  var hold: UInt64 = 0
  /// Takes nothing in the first so many milliseconds of every second.
  var duty: UInt64 = 0

  init(_ arguments: [String]) {
    var rest = arguments[...]
    while let name = rest.popFirst(), let value = rest.popFirst() {
      switch name {
      case "--bootstrap": bootstrap = value
      case "--topic": topic = value
      case "--style": style = QueueStyle(rawValue: value) ?? .partition
      case "--partitions": partitions = Int(value) ?? 1
      case "--verbose": isVerbose = value == "yes"
      case "--out": out = value
      case "--expect": expect = Int(value) ?? 0
      case "--hold": hold = UInt64(value) ?? 0
      case "--duty": duty = UInt64(value) ?? 0
      default: break
      }
    }
  }
}

/// A member of the group: a control thread for the group, two loops that own queues.
final class Member {
  private static let loopCount = 2
  private let options: MemberOptions
  private let wakeup = Wakeup()
  private let consumer: KafkaGroupConsumer
  private let loops: [Loop]
  private var report = MemberReport()
  private var lastUnassigned: UInt64 = 0
  private var owned: [TopicPartition] = []
  private var stopAsked = false

  static func run(_ options: MemberOptions) -> Int32 {
    KafkaLog.silence()
    do {
      // Before any thread starts, so that all of them leave the signal to the descriptor.
      let signals = try SignalSource([SIGTERM])
      try Member(options).serve(signals)
      return 0
    } catch {
      print("member failed: \(error)")
      return 1
    }
  }

  private init(_ options: MemberOptions) throws {
    self.options = options
    var configuration = KafkaConfiguration(bootstrap: options.bootstrap, clientID: "member")
    configuration.isEmbeddedBroker = true
    configuration.consumer = [("session.timeout.ms", "4000")]
    if options.style == .divided || options.style == .woken {
      let share = Self.loopCount * 4_000 / options.partitions
      configuration.consumer.append(("queued.min.messages", "\(share)"))
    }
    consumer = try KafkaGroupConsumer(
      configuration, group: "readers", topics: [options.topic], wakeup: wakeup)
    loops = (0..<Self.loopCount).map { _ in Loop(options) }
  }

  private func serve(_ signals: SignalSource) throws {
    var threads: [pthread_t] = []
    for (index, loop) in loops.enumerated() { threads.append(try loop.start(index)) }
    let poller = try Poller()
    try poller.add(wakeup.fd, token: 0, .readable)
    try poller.add(signals.fd, token: 1, .readable)
    var events: [ReadyEvent] = []
    var nextCommit = MonotonicClock.milliseconds() + 200
    while !stopAsked {
      let isWaking = options.style == .woken && !owned.isEmpty
      poller.wait(timeoutMilliseconds: isWaking ? 20 : 100, into: &events)
      if isWaking { consumer.wakeFetcher(of: owned[0]) }
      if events.contains(where: { $0.token == 1 }) { stopAsked = true }
      wakeup.clear()
      while let event = consumer.nextEvent() { try handle(event) }
      let now = MonotonicClock.milliseconds()
      if now >= nextCommit {
        nextCommit = now + 200
        try? consumer.commitAsync(positions())
      }
      if options.expect > 0 && loops.reduce(0, { $0 + $1.count }) >= options.expect { break }
    }
    try finish(threads)
  }

  private func handle(_ event: GroupEvent) throws {
    if options.isVerbose {
      let text = "\(event)".prefix(160)
      print("\(MonotonicClock.milliseconds()) \(getpid()) \(text)\n", terminator: "")
      fflush(nil)
    }
    switch event {
    case .assigned(let partitions): try assign(partitions)
    case .revoked: try revoke()
    case .offsetsCommitted, .error: break
    case .fatal(let error): throw error
    }
  }

  private func assign(_ partitions: [TopicPartition]) throws {
    owned = partitions
    let committed = try consumer.committed(partitions, timeoutMilliseconds: 5_000)
    for (index, loop) in loops.enumerated() {
      let mine = partitions.filter { Int($0.partition) % loops.count == index }
      guard !mine.isEmpty else { continue }
      let queues =
        switch options.style {
        case .partition, .divided, .woken: mine.map { consumer.openQueue($0, wakeup: loop.wakeup) }
        case .loop: [consumer.openSharedQueue(mine, wakeup: loop.wakeup)]
        }
      loop.commands.post(.own(queues))
    }
    try consumer.assign(committed.map { PartitionStart($0.partition, offset: $0.offset ?? 0) })
    if lastUnassigned > 0 {
      let stall = Int(MonotonicClock.milliseconds() - lastUnassigned)
      report.stallMilliseconds = max(report.stallMilliseconds, stall)
    }
  }

  private func revoke() throws {
    let begun = MonotonicClock.milliseconds()
    letGo()
    _ = try? consumer.commit(positions())
    for loop in loops { loop.forgetPositions() }
    try consumer.unassign()
    owned = []
    lastUnassigned = MonotonicClock.milliseconds()
    report.letGoMilliseconds = max(report.letGoMilliseconds, Int(lastUnassigned - begun))
  }

  /// Every loop closes its queues; returns when all have.
  private func letGo() {
    for loop in loops { loop.commands.post(.letGo) }
    for loop in loops { loop.waitUntilIdle() }
  }

  private func positions() -> [CommitRequest] {
    loops.flatMap { loop in
      loop.positions().map {
        CommitRequest(TopicPartition(topic: options.topic, partition: $0.key), offset: $0.value)
      }
    }
  }

  private func finish(_ threads: [pthread_t]) throws {
    letGo()
    _ = try? consumer.commit(positions())
    for loop in loops { loop.commands.post(.stop) }
    for thread in threads { pthread_join(thread, nil) }
    consumer.close()
    for loop in loops { loop.add(to: &report) }
    report.peakKilobytes = residentKilobytes("VmHWM:")
    try File.write(options.out, report.encoded())
  }
}

/// What a member process measured, and every record it took.
struct MemberReport {
  var heldKilobytes = 0
  var peakKilobytes = 0
  var drainMicroseconds = 0
  var cpuMicroseconds = 0
  var letGoMilliseconds = 0
  var stallMilliseconds = 0
  /// Partition in the upper 16 bits, offset below.
  var taken: [UInt64] = []

  init() {}

  init(decoding bytes: [UInt8]) {
    let words = bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt64.self)) }
    guard words.count >= 6 else { return }
    heldKilobytes = Int(words[0])
    peakKilobytes = Int(words[1])
    drainMicroseconds = Int(words[2])
    cpuMicroseconds = Int(words[3])
    letGoMilliseconds = Int(words[4])
    stallMilliseconds = Int(words[5])
    taken = Array(words[6...])
  }

  func encoded() -> [UInt8] {
    let words =
      [
        heldKilobytes, peakKilobytes, drainMicroseconds, cpuMicroseconds, letGoMilliseconds,
        stallMilliseconds,
      ].map { UInt64($0) } + taken
    return words.withUnsafeBytes { Array($0) }
  }
}

/// A line of /proc/self/status, in KiB.
func residentKilobytes(_ name: String) -> Int {
  guard let bytes = try? File.read("/proc/self/status") else { return 0 }
  for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  where line.hasPrefix(name) {
    return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).compactMap { Int($0) }.first ?? 0
  }
  return 0
}
