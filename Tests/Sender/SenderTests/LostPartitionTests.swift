// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// Answers each device's first push after some seconds, and its further ones as told.
private func gateway(
  late milliseconds: UInt64, of tokens: Set<String>, silentAfterwards: Set<String> = []
) throws -> ScriptedGateway {
  let seen = Mutex<Set<String>>([])
  return try ScriptedGateway { request in
    guard tokens.contains(request.token) else { return .accepted() }
    if seen.withLock({ $0.insert(request.token).inserted }) {
      return .accepted(after: milliseconds)
    }
    return silentAfterwards.contains(request.token) ? .hold : .accepted()
  }
}

/// Partitions that are lost, and a coordinator that is away.
@Suite(.serialized) struct LostPartitionTests {
  @Test
  func `late answers of a lost partition are reported and never committed; its new owner's are`()
    throws
  {
    let (redone, hanging) = (SenderRig.token(0), SenderRig.token(1))
    let gateway = try gateway(late: 25_000, of: [redone, hanging], silentAfterwards: [hanging])
    let rig = try SenderRig(partitions: 1, embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    let sender = try rig.startSender(
      ["--request-timeout", "60s", "--drain-timeout", "60s"], loops: 1, answering: gateway)
    // Once a push was served all others may go at once.
    try rig.send(SenderRig.token(50), SenderRig.envelope(id: SenderRig.id(50)))
    #expect(try rig.receipts(of: [50]).count == 1)
    let count = 20
    try rig.sendMany(0..<count)
    #expect(try rig.receipts(of: 2..<count).count == count - 2)
    #expect(gateway.count == count + 1)
    // The group says that it went on without us, as after a session's time-out.
    broker.inject([.illegalGeneration], into: .heartbeat)
    #expect(eventually { sender.counter("assignments_lost") == 1 })
    // Assigned again, both that were open are sent again, and one of them is answered.
    expectEventually {
      gateway.requests.filter { $0.token == hanging }.count == 2
    }
    #expect(try eventually { try rig.committed() == 2 })
    #expect(gateway.requests.allSatisfy { $0.token != hanging || $0.answeredAt == 0 })
    // Now the late answers come.
    #expect(try rig.receipts(of: [1]).map(\.outcome) == [.delivered])
    let receipts = try rig.receipts(count + 2)
    #expect(receipts.filter { $0.apnsID == NotificationID(SenderRig.id(0)) }.count == 2)
    #expect(receipts.filter { $0.apnsID == NotificationID(SenderRig.id(1)) }.count == 1)
    // Long enough for some commits: the record that the new assignment still works on stays open.
    #expect(try !eventually(withinMilliseconds: 1_500) { try rig.committed() != 2 })
    #expect(sender.counter("open_records") == 1)
    let left = sender.counter("left_under_way")
    #expect(left >= 2)
    #expect(sender.stopFast() == nil)
    #expect(try rig.committed() == 2)
    #expect(sender.counter("left_under_way") == left + 1)
  }

  @Test
  func `while committed offsets cannot be read the process keeps asking; then it goes on`() throws {
    let rig = try SenderRig(partitions: 2, embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    try rig.sendMany(0..<50)
    broker.inject(Array(repeating: .coordinatorNotAvailable, count: 50_000), into: .offsetFetch)
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("beginnings_failed") > 0 })
    #expect(sender.counter("taken") == 0)
    // Away altogether for longer than the session lasts: the assignment that could not begin is lost.
    broker.setDown()
    broker.clearFaults(of: .offsetFetch)
    let session = UInt64(KafkaFixture.sessionMilliseconds)
    #expect(!eventually(withinMilliseconds: session + 2_000) { sender.hasEnded })
    broker.setUp()
    #expect(try rig.receipts(of: 0..<50).count == 50)
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 50)
  }

  @Test
  func `a rebalance while a sender finishes for its stop shortens that and ends nothing badly`()
    throws
  {
    let silent = SenderRig.token(0)
    let gateway = try gateway(late: 600_000, of: [silent])
    let rig = try SenderRig(partitions: 2, hasToken: true)
    let flags = ["--request-timeout", "5m", "--drain-timeout", "5m"]
    let first = try rig.startSender(flags, answering: gateway)
    try rig.sendMany(0..<20)
    #expect(try rig.receipts(of: 1..<20).count == 19)
    first.requestStop()
    #expect(!eventually(withinMilliseconds: 500) { first.hasEnded }, "it waits for the answer")
    let second = try rig.startSender(flags, answering: gateway)
    #expect(eventually { first.hasEnded })
    #expect(first.stop() == nil)
    #expect(try rig.receipts(of: [0]).map(\.outcome) == [.delivered], "by the second one")
    #expect(second.stop() == nil)
    #expect(try rig.committed() == 20)
  }

  /// As when librdkafka commits under no member id, once its session has run out: nobody else has the name.
  @Test(arguments: [EmbeddedBroker.Request.offsetCommit, .heartbeat, .syncGroup])
  func `a named sender that is told that its name is another's goes on with a new client`(
    request: EmbeddedBroker.Request
  ) throws {
    let rig = try SenderRig(partitions: 2, embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    if request == .syncGroup { broker.inject([.fencedInstance], into: request) }
    let sender = try rig.startSender(["--instance-id", "one"])
    try rig.sendMany(20)
    #expect(try rig.receipts(of: 0..<20).count == 20)
    if request != .syncGroup { broker.inject([.fencedInstance], into: request) }
    try rig.sendMany(20, from: 20)
    #expect(eventually { sender.counter("rejoined") == 1 })
    try rig.sendMany(20, from: 40)
    #expect(try rig.receipts(of: 20..<60).count == 40)
    #expect(!sender.hasEnded)
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 60)
  }

  /// As when a second process has come with the same instance id: what is in flight is the other's to send.
  @Test(arguments: [false, true])
  func `a sender that is fenced ends soon, whatever is in flight, and commits nothing`(
    hasHanging: Bool
  ) throws {
    let hanging = SenderRig.token(0)
    let gateway = try ScriptedGateway { $0.token == hanging ? .hold : .accepted() }
    let rig = try SenderRig(partitions: 1, embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    let sender = try rig.startSender(
      ["--request-timeout", "10m", "--drain-timeout", "10m", "--stop-timeout", "11m"],
      answering: gateway)
    try rig.sendMany(1..<21)
    #expect(try rig.receipts(of: 1...20).count == 20)
    #expect(try eventually { try rig.committed() == 20 })
    if hasHanging {
      try rig.send(hanging, SenderRig.envelope(id: SenderRig.id(0)))
      #expect(eventually { gateway.count == 21 })
    }
    broker.inject([.fencedInstance], into: .heartbeat)
    #expect(eventually { sender.hasEnded }, "not after ten minutes")
    let failure = try #require(sender.stop())
    #expect("\(failure)".contains("FENCED_INSTANCE_ID"), "\(failure)")
    #expect(try rig.committed() == 20)
  }
}
