// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Store
import TestSupport
import Testing

@testable import API

@Suite struct DatabasesTests {
  private static let more: Query.Read = { _ in .unfinished(more) }

  @Test func `of a schedule that is begun anew while it is read nothing is said`() throws {
    let folder = TemporaryFolder()
    let location = folder.file("d.db")
    let store = try ScheduleStore(TokenStore(location, now: 0))
    try store.setPosition(1, 2)
    let context = try ServiceContext.test()
    let databases = Databases(location, location, StoredInHand("schedule", context))
    let whole = try databases.read(.schedule, Self.more)
    if case .next = whole { Issue.record("the schedule is complete") }
    let part = try databases.read(.schedule) { _ throws(StoreError) in
      try ScheduleStore(TokenStore(location, now: 0)).startOver(1)
      return .unfinished(Self.more)
    }
    if case .unfinished = part { Issue.record("the schedule is incomplete") }
  }

  @Test func `what a schedule lacks that is completed while it is read may be in it`() throws {
    let folder = TemporaryFolder()
    let location = folder.file("d.db")
    let store = try ScheduleStore(TokenStore(location, now: 0))
    try store.startOver(1)
    let context = try ServiceContext.test()
    let databases = Databases(location, location, StoredInHand("schedule", context))
    let keys = [ExactText("a:production:1")]
    let completing = keys.lazy.map { (key: ExactText) -> ExactText in
      _ = try? store.setComplete(1)
      return key
    }
    let early = try databases.scheduled(completing)
    #expect(early.found.isEmpty && early.obstacle != nil)
    #expect(try databases.scheduled(keys).obstacle == nil)
  }
}
