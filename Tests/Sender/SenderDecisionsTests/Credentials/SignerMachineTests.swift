// SPDX-License-Identifier: Apache-2.0
import Contract
import SignerDecisions
import Testing

@Suite struct SignerMachineTests {
  private func owner(_ list: [(id: String, apps: [String])] = [("a", ["app"])]) -> SignerMachine {
    var machine = SignerMachine()
    _ = machine.replace(list, now: 0)
    machine.beginTurn(now: 0)
    machine.begin(now: 0)
    return machine
  }

  @Test func `only the owner writes, when it has read the topic, and not right after a trouble`() {
    var machine = owner()
    #expect(machine.mayWrite(isRead: true, now: 0) && !machine.mayWrite(isRead: false, now: 0))
    machine.failed(now: 1_000)
    #expect(!machine.mayWrite(isRead: true, now: 5_999))
    #expect(machine.mayWrite(isRead: true, now: 6_000))
    for now in [2_000, 4_000, 6_000, 8_001] as [UInt64] { machine.beginTurn(now: now) }
    #expect(!machine.mayWrite(isRead: true, now: 11_000), "the process stood still")
    #expect(machine.mayWrite(isRead: true, now: 11_001))
    machine.stop()
    #expect(!machine.mayWrite(isRead: true, now: 20_000))
  }

  /// As with more apps than a record holds: only another list of apps makes it smaller.
  @Test func `a record that cannot be handed over holds its credential back and no other`() {
    var machine = owner([("a", ["app"]), ("b", ["other"])])
    machine.hold(0, now: 1_000)
    #expect(machine.mayWrite(isRead: true, now: 1_000))
    #expect(machine.isHeld(0, now: 5_999) && !machine.isHeld(1, now: 1_000))
    #expect(!machine.isHeld(0, now: 6_000))
    _ = machine.replace([("b", ["other"]), ("a", ["less"])], now: 2_000)
    #expect(!machine.isHeld(0, now: 2_000) && !machine.isHeld(1, now: 2_000))
  }

  @Test func `what is on its way is not written again, and other apps are published`() throws {
    var machine = owner()
    let first = machine.work(0, wall: 10_000)
    let work = try #require(first)
    guard case .mint(let stamp) = work.step else { return #expect(Bool(false), "\(work)") }
    #expect(!work.clears && machine.work(0, wall: 10_000) == nil)
    machine.notPublished("a")
    #expect(machine.work(0, wall: 10_000) != nil)
    machine.published(stamp, apps: ["app"], of: "a", at: 0)
    #expect(machine.work(0, wall: 10_001) == nil && machine.isSettled(wall: 10_001))
    #expect(machine.newest(wall: 10_001).map(\.issuedAt) == [stamp.issuedAt])
    #expect(machine.replace([("a", ["app", "other"])], now: 0) == [])
    let again = machine.work(0, wall: 10_001)?.step
    #expect(
      again == .publish(ProviderTokenStamp(issuedAt: stamp.issuedAt, generation: 2)),
      "the record has other apps")
  }

  /// APNs takes one token per key and 20 minutes: whoever takes a credential out of the file and puts it back gets the
  /// same one again, though it was withdrawn meanwhile, or its answer came meanwhile.
  @Test(arguments: [true, false])
  func `a credential that comes back within 20 minutes goes on with its token`(isPending: Bool) {
    var machine = owner()
    _ = machine.work(0, wall: 10_000)
    let stamp = ProviderTokenStamp(issuedAt: 9_995, generation: 1)
    if !isPending { machine.published(stamp, apps: ["app"], of: "a", at: 0) }
    #expect(machine.replace([], now: 1_000) == ["a"])
    if isPending { machine.published(stamp, apps: ["app"], of: "a", at: 0) }
    #expect(machine.drainUnlisted(wall: 10_001, now: 1_001) == ["a"])
    machine.removed("a", at: 1)
    #expect(machine.replace([("a", ["app"])], now: 2_000) == [])
    let step = machine.work(0, wall: 10_002)?.step
    #expect(step == .publish(ProviderTokenStamp(issuedAt: 9_995, generation: 2)))
    machine.notPublished("a")
    _ = machine.replace([], now: 3_000)
    machine.forgetDeparted("a")
    _ = machine.replace([("a", ["app"])], now: 4_000)
    let next = machine.work(0, wall: 10_003)?.step
    guard case .mint = next else {
      return #expect(Bool(false), "another key: \(String(describing: next))")
    }
  }

  @Test func `credentials that are gone wait for the others' tokens, at most half a minute`() {
    var machine = owner([("a", []), ("b", [])])
    #expect(machine.replace([("a", [])], now: 1_000) == ["b"])
    #expect(machine.drainUnlisted(wall: 10_000, now: 30_999) == [])
    #expect(machine.drainUnlisted(wall: 10_000, now: 31_000) == ["b"])
    #expect(!machine.hasUnlisted)
    machine.notWithdrawn("b")
    machine.notWithdrawn("a")
    #expect(machine.drainUnlisted(wall: 10_000, now: 31_000) == ["b"], "a is in the list")
    machine.read(
      .own(ProviderTokenStamp(issuedAt: 9_999, generation: 1), isComplete: true), of: "a", at: 0)
    let isListed = machine.read(.stranger, of: "c", at: 1)
    #expect(!isListed)
    #expect(machine.drainUnlisted(wall: 10_000, now: 0) == ["c"], "nothing else is due")
  }

  @Test func `a tombstone leaves a credential to be withdrawn, a signer's word does not`() {
    var machine = owner()
    machine.read(.stranger, of: "c", at: 0)
    machine.removed("c", at: 1)
    #expect(machine.hasUnlisted)
    machine.forgotten("c", at: 2)
    #expect(!machine.hasUnlisted)
  }

  /// A topic that was deleted and created again counts its offsets from zero.
  @Test func `a topic that is read again from its start gets what it lacks once, and no new token`()
  {
    var machine = owner([("a", ["app"]), ("b", ["other"])])
    let stamp = ProviderTokenStamp(issuedAt: 9_995, generation: 1)
    machine.published(stamp, apps: ["app"], of: "a", at: 1_000)
    machine.published(stamp, apps: ["other"], of: "b", at: 1_001)
    #expect(machine.isSettled(wall: 10_000))
    machine.restart()
    // The token of one of them is there.
    machine.read(.own(stamp, isComplete: true), of: "b", at: 0)
    let again = ProviderTokenStamp(issuedAt: 9_995, generation: 2)
    let step = machine.work(0, wall: 10_001)?.step
    #expect(step == .publish(again))
    #expect(machine.work(1, wall: 10_001) == nil)
    machine.published(again, apps: ["app"], of: "a", at: 1)
    #expect(machine.isSettled(wall: 10_002))
    machine.read(.stranger, of: "a", at: 2)
    #expect(!machine.isSettled(wall: 10_003), "offsets of the new log count")
  }

  @Test func `what was asked before the current token was minted is answered by it`() {
    var machine = owner()
    machine.read(
      .own(ProviderTokenStamp(issuedAt: 5_000, generation: 1), isComplete: true), of: "a", at: 0)
    machine.requested(.refused, of: 0, at: 4_999, wall: 5_001)
    #expect(machine.work(0, wall: 5_000 + 21 * 60) == nil)
    machine.requested(.refused, of: 0, at: 5_001, wall: 5_001)
    #expect(machine.work(0, wall: 5_000 + 21 * 60) != nil)
  }
}
