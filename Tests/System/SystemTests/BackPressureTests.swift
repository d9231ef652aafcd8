// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Records
import TestSupport
import Testing

/// What cannot go on stays in Kafka: memory is bounded whichever part is silent, slow or away (docs/guarantees.md).
@Suite(.serialized) struct BackPressureTests {
  /// The most that a process may ever have resident, in MiB.
  private static let mebibytes = [
    "martlet-sender": 96, "cramped-sender": 96, "martlet-ingest": 64, "martlet-feedback": 64,
  ]
  private static let openAtMost = 100
  private static let partitions = 12
  private static let senderFlags = ["--loops", "2", "--max-open", "\(openAtMost)"]

  private func expectBounded(_ rig: PipelineRig, _ names: [String]) {
    for name in names {
      let peak = rig[name].peakMebibytes
      let bound = Self.mebibytes[name] ?? 0
      #expect(peak > 0 && peak <= bound, "\(name) had \(peak) MiB of \(bound)")
      print("\(name): at most \(peak) MiB resident")
    }
  }

  /// Waits until a counter of a process stands still for a second.
  private func standsStill(_ program: BuiltProgram, _ counter: String) -> Bool {
    var last = (value: -1, since: MonotonicClock.milliseconds())
    return eventually(pauseMilliseconds: 50) {
      let (value, now) = (program.counter(counter), MonotonicClock.milliseconds())
      if value != last.value { last = (value, now) }
      return now - last.since >= 1_000
    }
  }

  /// Processes that can do nothing do nothing: there comes a second in which each uses no more than a fifth of a core.
  private func expectIdle(_ rig: PipelineRig, _ names: [String]) {
    for name in names {
      var last = (used: rig[name].processorMilliseconds, at: MonotonicClock.milliseconds())
      let isIdle = eventually(pauseMilliseconds: 1_000) {
        let next = (used: rig[name].processorMilliseconds, at: MonotonicClock.milliseconds())
        guard next.at - last.at >= 900 else { return false }
        defer { last = next }
        return (next.used - last.used) * 5 <= Int(next.at - last.at)
      }
      #expect(isIdle, "\(name) spins: \(rig[name].output.suffix(2_000))")
    }
  }

  @Test
  func
    `a silent gateway and a long backlog: records stay in Kafka, and go out when it speaks again`()
    throws
  {
    let count = 5_000
    let rig = try PipelineRig()
    try rig.startSimulator()
    try rig.start("martlet-signer")
    try rig.produceNotifications(0..<count)
    // Bodies as long as APNs takes, which lz4 makes very small, and then many short ones.
    try rig.produceNotifications(count..<2 * count, lane: .bulk, padding: 3_500)
    try rig.produceNotifications(2 * count..<110_000, lane: .bulk)
    try rig.start("martlet-sender", Self.senderFlags)
    let sender = rig["martlet-sender"]
    #expect(
      eventually { sender.counter("delivered") >= 500 },
      "\(sender.output.suffix(2_000))")
    rig["apns-simulator"].signal(SIGSTOP)
    defer { rig["apns-simulator"].signal(SIGCONT) }
    #expect(standsStill(sender, "taken"))
    let open = sender.counter("open_records")
    #expect(open > 0 && open <= 2 * Self.partitions * Self.openAtMost, "\(open) are open")
    expectIdle(rig, ["martlet-sender"])
    rig["apns-simulator"].signal(SIGCONT)
    let isDone = try eventually(pauseMilliseconds: 50) {
      try rig.committed(rig.names.notifications(.first), by: .sender) == count
    }
    #expect(isDone, "\(sender.output.suffix(2_000))")
    #expect(sender.counter("dead_lettered") + sender.counter("retried") == 0)
    expectBounded(rig, ["martlet-sender"])
    rig.stop()
  }

  /// One sender's producer has room for two records, so it is full; the other's has room for what the bound of
  /// open records allows.
  @Test
  func `Kafka is slow, then away: intake stops, nothing spins, and all is there when it is back`()
    throws
  {
    let (count, gone) = (6_000, 100)
    let names = ["martlet-sender", "cramped-sender", "martlet-ingest", "martlet-feedback"]
    let room = "--kafka.producer.queue.buffering.max.messages="
    let rig = try PipelineRig()
    // So that the senders are not through before the broker is away.
    try rig.startSimulator(["--latency", "2s"], unregistered: 0..<gone)
    try rig.start("martlet-signer")
    try rig.start("martlet-sender", Self.senderFlags)
    try rig.start("martlet-sender", Self.senderFlags + [room + "2"], as: "cramped-sender")
    try rig.start("martlet-ingest", [room + "1000", "--max-in-flight", "800"])
    try rig.start("martlet-feedback", [room + "2"])
    for name in names { try #require(rig.isUp(name), "\(rig[name].output)") }
    let senders = names.prefix(2).map { rig[$0] }
    try rig.setBroker(#"{"round_trip_ms":20}"#)
    try rig.produceRequests(0..<count, padding: 1_000)
    for sender in senders {
      let flows = eventually { sender.counter("delivered") >= 250 }
      #expect(flows, "\(sender.output.suffix(2_000))")
    }
    try rig.setBroker(#"{"up":false}"#)
    for sender in senders {
      #expect(standsStill(sender, "taken"))
      let open = sender.counter("open_records")
      #expect(open > 0 && open <= Self.partitions * Self.openAtMost, "\(open) are open")
    }
    #expect(rig["martlet-ingest"].counter("in_flight") <= 800)
    expectIdle(rig, names)
    try rig.setBroker(#"{"up":true,"round_trip_ms":0}"#)
    try expectAll(rig, requests: count, unregistered: gone)
    expectBounded(rig, names)
    rig.stop()
  }

  /// Every request has its receipt, and every device that is gone is in the table of those.
  private func expectAll(_ rig: PipelineRig, requests: Int, unregistered: Int) throws {
    var answered: Set<String> = []
    let isComplete = try rig.readReceipts(
      { receipt in
        if let id = receipt["id"]?.string { answered.insert(id) }
      }, until: { answered.count == requests })
    #expect(isComplete, "\(answered.count) of \(requests) requests have a receipt")
    var dead: Set<String> = []
    let isKnown = try rig.read(
      rig.names.invalidTokens, { record in if let key = record.key { dead.insert(key) } },
      until: { dead.count == unregistered })
    #expect(isKnown, "\(dead.count) of \(unregistered) devices are known to be gone")
  }
}
