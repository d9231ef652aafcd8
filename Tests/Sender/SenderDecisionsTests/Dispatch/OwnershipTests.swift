// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// Devices that are removed, or change their owner, while pushes to them wait.
@Suite struct OwnershipTests {
  /// One push that APNs throttles for a while.
  private func throttled(retryAfter: UInt32 = 65) -> ScriptedLoop {
    let loop = ScriptedLoop()
    var isAnswered = false
    loop.answer { request in
      guard request.push == 0, !isAnswered else { return .accepted }
      isAnswered = true
      return .reason(.tooManyRequests, retryAfter: retryAfter)
    }
    loop.produce(0)
    loop.run(milliseconds: 1_000)
    #expect(loop.moves.count == 1 && loop.endings.isEmpty)
    return loop
  }

  private func release(_ reason: DeviceRelease.Reason, _ loop: ScriptedLoop) -> ReleasedDevices.News
  {
    .released(DeviceRelease(reason, at: loop.wall), isGone: reason == .removed)
  }

  @Test(arguments: DeviceRelease.Reason.allCases)
  func `a push that comes back from a retry topic is not sent to a device that is not its any more`(
    reason: DeviceRelease.Reason
  ) throws {
    let loop = throttled()
    loop.tell(release(reason, loop), of: 0)
    loop.run(milliseconds: 1_000)
    // Another device is no concern of this.
    loop.produce(1)
    #expect(loop.runToEnd(of: 2, within: 2_000_000))
    let ending = try #require(loop.endings[0])
    #expect(ending.outcome == .suppressed && ending.cause == reason.cause)
    #expect(loop.requests(of: 0).count == 1)
    #expect(loop.delivered(1..<2))
  }

  @Test func `what is requested for the new owner is sent`() throws {
    let loop = throttled()
    loop.tell(release(.ownerChanged, loop), of: 0)
    loop.produce(5) { $0.device = 0 }
    #expect(loop.runToEnd(of: 2, within: 2_000_000))
    #expect(loop.endings[0]?.outcome == .suppressed)
    #expect(loop.endings[5]?.outcome == .delivered)
  }

  @Test func `to a removed device nothing is sent, whenever it was requested, until it is back`() {
    let loop = ScriptedLoop()
    loop.tell(release(.removed, loop), of: 0)
    loop.run(milliseconds: 100)
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    #expect(loop.endings[0]?.cause == .removed)
    loop.tell(.released(DeviceRelease(.ownerChanged, at: loop.wall), isGone: false), of: 0)
    loop.produce(1) { $0.device = 0 }
    #expect(loop.runToEnd(of: 2))
    #expect(loop.delivered(1..<2))
  }

  @Test func `what waits in line for a credential is asked again when it is sent`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.produce(0..<3)
    loop.run(milliseconds: 500)
    #expect(loop.endings.isEmpty)
    loop.tell(release(.ownerChanged, loop), of: 1)
    loop.publishToken()
    #expect(loop.runToEnd(of: 3))
    #expect(loop.delivered(0..<1) && loop.delivered(2..<3))
    #expect(loop.endings[1]?.cause == .ownerChanged && loop.requests(of: 1).isEmpty)
  }

  @Test func `a broadcast has no device, and another app's device with the same token is another`()
  {
    let loop = ScriptedLoop()
    loop.publishToken("other", apps: ["other"])
    loop.tell(release(.removed, loop), of: 0)
    loop.produce(0) { $0.target = .channel }
    loop.produce(1, app: "other") { $0.device = 0 }
    loop.produce(2) {
      $0.device = 0
      $0.environment = .sandbox
    }
    #expect(loop.runToEnd(of: 3))
    #expect(loop.delivered(0..<3))
  }
}
