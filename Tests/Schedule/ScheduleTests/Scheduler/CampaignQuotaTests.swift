// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Scheduler

/// Paces of campaigns: one app has so many, and leaves room for others.
@Suite struct CampaignQuotaTests {
  private static func start(_ fixture: SchedulerFixture, _ name: String, app: String) throws {
    let time = WallClock.milliseconds() / 1_000 + 3_600
    let json =
      #"{"campaign":"\#(name)","request":{"app":"\#(app)","payload":{"aps":{"alert":"x"}}},"audience":{},"pace":"1/s","send_at":\#(time)}"#
    try fixture.start(SchedulerFixture.campaign(json))
  }

  @Test func `campaigns beyond their app's quota wait and say so, and another app's do not`() throws
  {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    let store = try TokenStore(devices, now: 0)
    try store.setComplete(at: 1)
    let count = PaceRoom.groupsOfAppAtMost + 5
    for number in 0..<count { try Self.start(fixture, "c\(number)", app: "com.example.many") }
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    func paces() throws -> Set<String> {
      Set(try fixture.readAll(fixture.names.controls).compactMap(\.key))
    }
    func campaigns() throws -> [CampaignRecord] {
      (try? TokenStoreReader(database).campaigns())?.compactMap { CampaignRecord(stored: $0.value) }
        ?? []
    }
    try expectEventually {
      try campaigns().count { $0.progress.note?.hasPrefix("it waits: ") == true } == 5
    }
    try Self.start(fixture, "c0", app: "com.example.few")
    try expectEventually {
      try paces().contains("pace:group:com.example.few:production:c0")
    }
    let ofMany = try paces().count { $0.hasPrefix("pace:group:com.example.many:") }
    #expect(ofMany == PaceRoom.groupsOfAppAtMost)
    // The database has what the topic has a moment later.
    try expectEventually {
      try campaigns().count { $0.progress.hasSetPace } == PaceRoom.groupsOfAppAtMost + 1
    }
    #expect(scheduler.stop() == nil)
  }
}
