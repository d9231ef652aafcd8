// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

@Suite struct PausesTests {
  @Test(arguments: [
    PauseSubject.app("com.example.app", .production), .app("lane", .sandbox),
    .lane("bulk"), .lane("fast"),
  ])
  func `a subject is read back from its key`(subject: PauseSubject) {
    #expect(PauseSubject(key: subject.key) == subject)
  }

  @Test(arguments: ["", ":", "app", "app:", ":production", "app:live", "lane:", "bulk"])
  func `a key that names no app and no lane pauses nothing`(key: String) {
    #expect(PauseSubject(key: key) == nil)
  }

  @Test func `an app is paused in its environment alone, until it is resumed`() {
    var pauses = Pauses(.standard)
    let hash = AppHash.of("a".utf8.span)
    #expect(!pauses.hasApps)
    pauses.set(.app("a", .production), isPaused: true)
    pauses.set(.app("a", .production), isPaused: true)
    #expect(pauses.hasApps && pauses.appCount == 1)
    #expect(pauses.contains(app: hash, .production))
    #expect(!pauses.contains(app: hash, .sandbox))
    #expect(!pauses.contains(app: AppHash.of("b".utf8.span), .production))
    pauses.set(.app("a", .production), isPaused: false)
    #expect(pauses == Pauses(.standard))
  }

  @Test func `a lane is paused until it is resumed`() {
    var pauses = Pauses(.standard)
    pauses.set(.lane("bulk"), isPaused: true)
    #expect(pauses.contains(.bulk) && !pauses.contains(.first) && !pauses.hasApps)
    #expect(pauses.hasLanes && pauses.laneCount == 1)
    pauses.set(.lane("bulk"), isPaused: false)
    #expect(!pauses.contains(.bulk) && pauses.laneCount == 0 && !pauses.hasLanes)
  }

  @Test func `a lane that the list does not have pauses nothing`() {
    var pauses = Pauses(.standard)
    let isKnown = pauses.set(.lane("fast"), isPaused: true)
    #expect(!isKnown && pauses == Pauses(.standard))
  }
}
